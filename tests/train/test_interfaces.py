from pathlib import Path

import pytest

from homeport.errors import NotFound, UnreadableOutput
from homeport.train import interfaces

RECORDED = (Path(__file__).parent / "recorded" / "proc_net_dev.txt").read_text()


def test_sent_and_received_are_the_byte_columns():
    assert interfaces.parse(RECORDED, "eth0") == (2_222_222, 1_111_111)
    assert interfaces.parse(RECORDED, "lo") == (333, 333)


def test_an_interface_that_is_not_there_is_not_zero_bytes():
    with pytest.raises(UnreadableOutput, match="a line for eth"):
        interfaces.parse(RECORDED, "eth")


def test_loopback_addresses_belong_to_lo_and_unknown_ones_to_nobody():
    assert interfaces.interface_of("127.0.0.1") == "lo"
    assert interfaces.interface_of("127.9.9.9") == "lo"
    with pytest.raises(NotFound, match=r"203\.0\.113\.7.*127\.0\.0\.1 \(lo\)"):
        interfaces.interface_of("203.0.113.7")


def test_gloo_would_advertise_the_first_address():
    assert interfaces.first_address("lo") == "127.0.0.1"
    with pytest.raises(NotFound, match="nosuch0"):
        interfaces.first_address("nosuch0")


@pytest.mark.parametrize(
    ("address", "local"), [("127.0.1.1", True), ("::1", True), ("10.77.1.1", False)]
)
def test_loopback_is_told_from_the_rest(address, local):
    assert interfaces.is_loopback(address) is local


def test_counters_of_this_machine_only_grow():
    before = interfaces.read_bytes("lo")
    after = interfaces.read_bytes("lo")
    assert all(b <= a for b, a in zip(before, after, strict=True))
