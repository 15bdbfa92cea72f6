"""Which IPv4 address stands for which host and which router of the emulated world."""

import socket
import struct

MAX_HOSTS = 254
_ROUTERS = 10 << 24 | 128 << 16  # 10.128.0.0: 32 addresses for each ordered pair of hosts


def host(number: int) -> str:
    """The address of the host `number`, from 0: 10.77.1.1, 10.77.2.1, …"""
    return f"10.77.{number + 1}.1"


def router(source: int, target: int, hop: int) -> bytes:
    """The packed address of the `hop`-th router (from 1) on the way between two hosts."""
    return struct.pack("!I", _ROUTERS + (source * MAX_HOSTS + target) * 32 + hop)


def packed(address: str) -> bytes:
    """An address as it stands in a packet."""
    return socket.inet_aton(address)
