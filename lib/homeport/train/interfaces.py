"""Which network interface holds an address, and how many bytes it has carried."""

import ctypes
import ipaddress
import socket
from pathlib import Path

from homeport.errors import NotFound, UnreadableOutput

# The namespace's own counters: /proc follows the network namespace of the reader, /sys does not.
COUNTERS = Path("/proc/self/net/dev")


class _SocketAddress(ctypes.Structure):
    _fields_ = (("family", ctypes.c_ushort), ("data", ctypes.c_ubyte * 26))


class _InterfaceAddress(ctypes.Structure):
    """One entry of getifaddrs(3)'s linked list, as far as it is read here."""


_InterfaceAddress._fields_ = (
    ("next", ctypes.POINTER(_InterfaceAddress)),
    ("name", ctypes.c_char_p),
    ("flags", ctypes.c_uint),
    ("address", ctypes.POINTER(_SocketAddress)),
)

# Where the address starts behind the family: after the port (IPv4), port and flow label (IPv6).
_LAYOUT = {socket.AF_INET: (2, 4), socket.AF_INET6: (6, 16)}


def is_loopback(address: str) -> bool:
    """Whether an address can only be reached from its own machine (127.0.0.0/8, ::1)."""
    return ipaddress.ip_address(address).is_loopback


def interface_of(address: str) -> str:
    """The name of the interface that holds `address`; NotFound lists what there is.

    Every address in 127.0.0.0/8 belongs to the loopback interface, listed or not.
    """
    wanted = ipaddress.ip_address(address)
    held = _addresses()
    for name, own in held:
        if own == wanted or (wanted.is_loopback and own.is_loopback):
            return name
    raise NotFound("interface with the address", address, [f"{own} ({name})" for name, own in held])


def first_address(interface: str) -> str:
    """The address gloo advertises when told to use `interface`: the first one listed for it."""
    for name, own in _addresses():
        if name == interface:
            return str(own)
    raise NotFound("interface", interface, sorted({name for name, _ in _addresses()}))


def _addresses():
    libc = ctypes.CDLL(None, use_errno=True)
    first = ctypes.POINTER(_InterfaceAddress)()
    if libc.getifaddrs(ctypes.byref(first)):
        raise OSError(ctypes.get_errno(), "getifaddrs")
    try:
        return list(_walk(first))
    finally:
        libc.freeifaddrs(first)


def _walk(entry):
    while entry:
        one = entry.contents
        if one.address and one.address.contents.family in _LAYOUT:
            start, size = _LAYOUT[one.address.contents.family]
            raw = bytes(one.address.contents.data[start : start + size])
            yield one.name.decode(), ipaddress.ip_address(raw)
        entry = one.next


def read_bytes(interface: str) -> tuple[int, int]:
    """Bytes an interface has sent and received since it came up, headers included."""
    return parse(COUNTERS.read_text(), interface)


def parse(text: str, interface: str) -> tuple[int, int]:
    """Sent and received bytes of one interface in the text of /proc/net/dev.

    Raises UnreadableOutput when the interface is not in it: an unread counter is not zero.
    """
    for line in text.splitlines():
        name, colon, counts = line.partition(":")
        if colon and name.strip() == interface:
            fields = counts.split()
            return int(fields[8]), int(fields[0])
    raise UnreadableOutput("/proc/net/dev", f"a line for {interface}", text)
