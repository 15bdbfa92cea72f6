"""The little of IPv4 that the relay must read and write (RFC 791, 792, 1141)."""

import socket
import struct

ICMP = 1
_PORTS = {socket.IPPROTO_TCP, socket.IPPROTO_UDP}
_ERRORS = {3, 4, 5, 11, 12}  # ICMP types that are never answered with an error


def aged(packet: bytes, hops: int) -> bytes:
    """The packet after `hops` routers: TTL lower by that, checksum to match."""
    after = bytearray(packet)
    after[8] -= hops
    total = (after[10] << 8 | after[11]) + (hops << 8)
    total = (total & 0xFFFF) + (total >> 16)
    after[10], after[11] = total >> 8, total & 0xFF
    return after


def key(packet: bytes) -> tuple[int, int]:
    """What tells packets apart: ports of TCP and UDP, id and sequence of an ICMP echo, else 0."""
    start = (packet[0] & 15) * 4
    if packet[9] == ICMP:
        start += 4
    elif packet[9] not in _PORTS:
        return 0, 0
    if len(packet) < start + 4:
        return 0, 0
    return struct.unpack_from("!HH", packet, start)


def checksum(data: bytes) -> int:
    """The Internet checksum: the complement of the one's complement sum of 16-bit words."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def time_exceeded(packet: bytes, router: bytes, hop: int) -> bytes | None:
    """What the `hop`-th router (from 1) answers to a packet whose TTL ended there.

    None where a router must stay silent: for ICMP errors and later fragments (RFC 1122 3.2.2).
    """
    length = (packet[0] & 15) * 4
    later_fragment = (packet[6] & 0x1F) | packet[7]
    if later_fragment or len(packet) < length + 8:
        return None
    if packet[9] == ICMP and packet[length] in _ERRORS:
        return None
    body = bytearray(8) + packet[: length + 8]
    body[0] = 11  # time exceeded, code 0: in transit
    struct.pack_into("!H", body, 2, checksum(bytes(body)))
    ttl = 255 - (hop - 1)  # routers begin at 255, and the answer passed the ones before
    size = 20 + len(body)
    head = bytearray(struct.pack("!BBHHHBBH", 0x45, 0, size, 0, 0, ttl, ICMP, 0))
    head += router + packet[12:16]
    struct.pack_into("!H", head, 10, checksum(bytes(head)))
    return bytes(head + body)
