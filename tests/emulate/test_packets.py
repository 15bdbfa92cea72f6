import socket
import struct

from hypothesis import given
from hypothesis import strategies as some

from homeport.emulate import packets
from homeport.emulate.addresses import MAX_HOSTS, host, packed, router


def echo(ttl=64, *, protocol=1, payload=b"\x08\0\0\0\x12\x34\0\x07rest", fragment=0, total=None):
    head = bytearray(
        struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 7, fragment, ttl, protocol, 0)
    )
    head += socket.inet_aton("10.77.1.1") + socket.inet_aton("10.77.2.1")
    struct.pack_into("!H", head, 10, by_the_book(head))
    return bytes(head) + payload


def by_the_book(data):
    """RFC 1071, word by word, as an oracle."""
    total = 0
    for at in range(0, len(data) - 1, 2):
        total += data[at] * 256 + data[at + 1]
    if len(data) % 2:
        total += data[-1] * 256
    while total > 0xFFFF:
        total = total % 0x10000 + total // 0x10000
    return 0xFFFF - total


def holds(data):
    return by_the_book(data) == 0


@given(some.integers(2, 255), some.integers(0, 0xFFFF), some.data())
def test_an_aged_packet_has_a_lower_ttl_and_a_checksum_that_holds(ttl, number, data):
    hops = data.draw(some.integers(1, min(ttl - 1, 30)))
    packet = bytearray(echo(ttl))
    packet[4:6] = struct.pack("!H", number)
    packet[10:12] = b"\0\0"
    packet[10:12] = struct.pack("!H", by_the_book(packet[:20]))
    after = packets.aged(bytes(packet), hops)
    assert after[8] == ttl - hops
    assert holds(after[:20])
    assert after[20:] == packet[20:]


@given(some.binary(max_size=64))
def test_the_checksum_is_that_of_the_rfc(data):
    assert packets.checksum(data) == by_the_book(data)


def test_a_router_answers_to_the_sender_and_quotes_what_expired():
    packet = echo(ttl=3)
    answer = packets.time_exceeded(packet, packed("10.128.0.3"), 3)
    assert holds(answer[:20]) and holds(answer[20:])
    assert answer[12:20] == packed("10.128.0.3") + packed("10.77.1.1")
    assert (answer[8], answer[9]) == (253, 1)
    assert (answer[20], answer[21]) == (11, 0)
    assert answer[28:] == packet[:28]
    assert struct.unpack_from("!H", answer, 2)[0] == len(answer)


def test_routers_stay_silent_where_an_answer_could_start_a_storm():
    error = echo(payload=b"\x0b\0\0\0\0\0\0\0quoted")
    assert packets.time_exceeded(error, packed("10.128.0.1"), 1) is None
    assert packets.time_exceeded(echo(fragment=5), packed("10.128.0.1"), 1) is None
    assert packets.time_exceeded(echo(fragment=0x2000), packed("10.128.0.1"), 1) is not None


def test_keys_are_ports_or_the_id_and_sequence_of_an_echo():
    assert packets.key(echo()) == (0x1234, 7)
    assert packets.key(echo(protocol=17, payload=struct.pack("!HHHH", 5353, 53, 8, 0))) == (
        5353,
        53,
    )
    assert packets.key(echo(protocol=6, payload=struct.pack("!HH", 4000, 80) + bytes(16))) == (
        4000,
        80,
    )
    assert packets.key(echo(protocol=47)) == (0, 0)
    assert packets.key(echo(protocol=17, payload=b"\x01")) == (0, 0)


def test_no_two_hosts_or_routers_share_an_address():
    hosts = {packed(host(number)) for number in range(MAX_HOSTS)}
    some_pairs = [(0, 1), (1, 0), (0, 253), (253, 0), (253, 252), (1, 2), (2, 1)]
    routers = {router(*pair, hop) for pair in some_pairs for hop in range(1, 31)}
    assert len(hosts) == MAX_HOSTS
    assert len(routers) == len(some_pairs) * 30
    assert not hosts & routers
