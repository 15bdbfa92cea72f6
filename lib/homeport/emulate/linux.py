"""The few system calls that Python 3.11 does not wrap, through the C library.

Each raises OSError with the kernel's reason; nothing here knows what it is used for.
"""

import ctypes
import fcntl
import os
import signal
import struct
import time

CLONE_NEWNS = 0x00020000
CLONE_NEWNET = 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC = 2, 4, 8
MS_BIND, MS_REC, MS_SLAVE = 0x1000, 0x4000, 0x80000
MNT_DETACH = 2

_PR_SET_PDEATHSIG = 1
_TUNSETIFF = 0x400454CA
_TUNGETFEATURES = 0x800454CF
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_TFD_TIMER_ABSTIME = 1

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def unshare(flags: int) -> None:
    """Move this process into new namespaces of the kinds in `flags` (CLONE_NEW…)."""
    _checked(_libc.unshare(flags), "unshare")


def setns(fd: int, kind: int) -> None:
    """Enter the namespace behind an open file; `kind` is its CLONE_NEW… flag.

    A network namespace is entered by the calling thread only.
    """
    _checked(_libc.setns(fd, kind), "setns")


def mount(source: str, target: str, kind: str = "", flags: int = 0) -> None:
    """Mount a file system, or bind `source` over `target`."""
    result = _libc.mount(
        source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), None
    )
    _checked(result, f"mount {source} on {target}")


def unmount_lazily(target: str) -> None:
    """Take a mount off its place; what is bound from it elsewhere stays."""
    _checked(_libc.umount2(target.encode(), MNT_DETACH), f"umount {target}")


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it is gone."""
    _checked(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")


def check_tun(fd: int) -> None:
    """OSError if `fd` is no TUN device: a node of that name may be anything in a container."""
    fcntl.ioctl(fd, _TUNGETFEATURES, bytes(4))


def open_tun(name: str) -> int:
    """Create the TUN interface `name` here; its packets are read from and written to the fd.

    The interface vanishes with the last copy of the fd.
    """
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.ioctl(fd, _TUNSETIFF, struct.pack("16sH14x", name.encode(), _IFF_TUN | _IFF_NO_PI))
    except OSError:
        os.close(fd)
        raise
    return fd


def raise_loopback(socket_fd: int) -> None:
    """Bring `lo` up in the network namespace that the socket belongs to."""
    name = b"lo"
    answer = fcntl.ioctl(socket_fd, _SIOCGIFFLAGS, struct.pack("16sH14x", name, 0))
    flags = struct.unpack("16sH14x", answer)[1]
    fcntl.ioctl(socket_fd, _SIOCSIFFLAGS, struct.pack("16sH14x", name, flags | _IFF_UP))


class _Timespec(ctypes.Structure):
    _fields_ = (
        ("interval_s", ctypes.c_long),
        ("interval_ns", ctypes.c_long),
        ("value_s", ctypes.c_long),
        ("value_ns", ctypes.c_long),
    )


class Alarm:
    """A timer with an fd that becomes readable at a set moment of the monotonic clock.

    epoll's own timeout has whole milliseconds only; this one is as fine as the kernel's timers.
    """

    def __init__(self):
        flags = os.O_NONBLOCK | os.O_CLOEXEC
        self.fd = _checked(_libc.timerfd_create(time.CLOCK_MONOTONIC, flags), "timerfd_create")
        self._spec = _Timespec()
        self._at = ctypes.byref(self._spec)
        self._settime = _libc.timerfd_settime

    def set(self, moment_s: float) -> None:
        """Ring at `moment_s`; a moment that is over rings at once."""
        whole = int(moment_s)
        self._spec.value_s = whole
        self._spec.value_ns = int((moment_s - whole) * 1e9) or 1  # 0 and 0 would disarm it
        self._settime(self.fd, _TFD_TIMER_ABSTIME, self._at, None)


def cpu_clock(pid: int) -> int:
    """The id of the clock that counts the CPU time of a process (for time.clock_gettime)."""
    return (~pid << 3) | 2
