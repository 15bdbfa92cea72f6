"""A host of the world: network and mount namespaces that live as long as someone holds them.

Nothing is given a name in the file system (no `ip netns add`): the relay keeps the namespaces'
files open, processes inside keep them alive, and with the last of both they vanish.
"""

import contextlib
import json
import os
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from homeport.emulate import addresses, linux
from homeport.emulate.state import mark

INTERFACE = "wan0"
_QUEUED = 10_000  # packets the interface holds for a relay that is held up; else they are lost
_NOWHERE = "192.0.2.1"  # RFC 5737: belongs to nobody
_SYSCTLS = ("tcp_slow_start_after_idle", "tcp_rmem", "tcp_wmem", "tcp_no_metrics_save")


@dataclass(frozen=True)
class Built:
    """A host as the relay holds it: open files, and facts for whoever asked for it."""

    name: str
    address: str
    tun: int
    network: int
    mounts: int
    devices: int
    link: dict
    congestion_control: str
    sysctls: dict

    @property
    def packed(self) -> bytes:
        """The address as it stands in a packet."""
        return addresses.packed(self.address)

    def facts(self) -> dict:
        """What the starter must know: numbers of our files, and what is in force inside."""
        return {
            "name": self.name,
            "address": self.address,
            "network": self.network,
            "mounts": self.mounts,
            "devices": self.devices,
            "inode": os.fstat(self.network).st_ino,
            "mtu": self.link["mtu"],
            "qdisc": self.link["qdisc"],
            "congestion_control": self.congestion_control,
            "sysctls": self.sysctls,
        }


def build_all(order: dict) -> list[Built]:
    """Make every host of an order, and return to where we were; OSError where refused."""
    ours = os.open("/proc/self/ns/net", os.O_RDONLY), os.open("/proc/self/ns/mnt", os.O_RDONLY)
    try:
        return [_build(name, order, ours[1]) for name in order["hosts"]]
    finally:
        linux.setns(ours[0], linux.CLONE_NEWNET)
        linux.setns(ours[1], linux.CLONE_NEWNS)
        for fd in ours:
            os.close(fd)


def _build(name: str, order: dict, our_mounts: int) -> Built:
    linux.setns(our_mounts, linux.CLONE_NEWNS)
    linux.unshare(linux.CLONE_NEWNET | linux.CLONE_NEWNS)
    tun = linux.open_tun(INTERFACE)
    address = order["hosts"][name]
    _configure(address, order["mtu"], order["congestion_control"])
    _cover_files(order["id"], _hosts_file(name, order["hosts"], order["aliases"]))
    return Built(
        name=name,
        address=address,
        tun=tun,
        network=os.open("/proc/self/ns/net", os.O_RDONLY),
        mounts=os.open("/proc/self/ns/mnt", os.O_RDONLY),
        devices=os.open("/proc/self/net/dev", os.O_RDONLY),
        link=json.loads(_ip(["-json", "link", "show", INTERFACE]))[0],
        congestion_control=_congestion_control(tun),
        sysctls={key: _sysctl(key) for key in _SYSCTLS},
    )


def _configure(address: str, mtu: int, congestion_control: str) -> None:
    # Without IPv6 no router solicitations stray into the relay; harmless where /proc/sys is
    # read-only, as they are dropped there.
    with contextlib.suppress(OSError):
        Path(f"/proc/sys/net/ipv6/conf/{INTERFACE}/disable_ipv6").write_text("1")
    # As an attribute of the route, the congestion control needs nobody's leave; as a sysctl
    # it would have to be allowed in the first namespace of the machine.
    lines = (
        "link set lo up",
        f"address add {address}/32 dev {INTERFACE}",
        f"link set {INTERFACE} mtu {mtu} txqueuelen {_QUEUED} up",
        f"route add default dev {INTERFACE} congctl {congestion_control}",
    )
    _ip(["-batch", "-"], "\n".join(lines) + "\n")


def _ip(arguments: list[str], stdin: str = "") -> str:
    done = subprocess.run(["ip", *arguments], input=stdin, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def _hosts_file(name: str, hosts: dict[str, str], aliases: dict[str, str]) -> str:
    lines = ["127.0.0.1 localhost"]
    for host, address in hosts.items():
        also = [alias for alias, meant in aliases.items() if meant == host]
        lines.append(" ".join([address, host, *also]))
    # Libraries look up the machine's own name to find the address that others reach it at.
    machine = socket.gethostname()
    if machine not in (*hosts, *aliases):
        lines.append(f"{hosts[name]} {machine}")
    return "\n".join(lines) + "\n"


def _names_from_files() -> str:
    lines = []
    with contextlib.suppress(FileNotFoundError):
        lines = Path("/etc/nsswitch.conf").read_text().splitlines()
    kept = [line for line in lines if not line.lstrip().startswith("hosts:")]
    return "\n".join([*kept, "hosts: files"]) + "\n"


def _cover_files(world: str, hosts_file: str) -> None:
    """Make every name lookup answer at once, from a file, for whoever enters these mounts.

    The files lie in a tmpfs whose name says to which world a process inside belongs.
    """
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_SLAVE)  # ours do not get out
    content = {
        "hosts": hosts_file,
        "resolv.conf": "",
        "nsswitch.conf": _names_from_files(),
    }
    linux.mount(mark(world), "/tmp", "tmpfs", linux.MS_NOSUID | linux.MS_NODEV)
    for name, text in content.items():
        Path("/tmp", name).write_text(text)
        if name == "hosts" or Path("/etc", name).exists():
            linux.mount(f"/tmp/{name}", f"/etc/{name}", flags=linux.MS_BIND)
    linux.unmount_lazily("/tmp")
    # So that tools find this host's interfaces under /sys/class/net, as after `ip netns exec`.
    with contextlib.suppress(OSError):
        linux.mount("sysfs", "/sys", "sysfs", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)


def _congestion_control(tun: int) -> str:
    """What a new connection uses here, as the kernel tells of one that is just being opened."""
    with socket.socket() as probe:
        probe.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            probe.connect((_NOWHERE, 9))
        name = probe.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.read(tun, 2048)  # its first packet, which nobody shall see
    return name.rstrip(b"\0").decode()


def _sysctl(name: str) -> str:
    return Path(f"/proc/sys/net/ipv4/{name}").read_text().strip()
