import os

import pytest
from hypothesis import given
from hypothesis import strategies as some

from homeport.emulate import Access, Bursts, Counters, Profile, Stamp
from homeport.emulate.table import DOWN, NO_LINK, STAMPS_KEPT, UP, Table, decode, encode

shares = some.floats(0, 1)
bursts = some.builds(Bursts, enter=shares, leave=shares, bad=shares, good=shares)
profiles = some.builds(
    Profile,
    delay_ms=some.floats(0, 60_000),
    jitter_ms=some.floats(0, 1000),
    loss=some.one_of(shares, bursts),
    rate_mbit_s=some.one_of(some.none(), some.floats(0.001, 100_000)),
    queue_ms=some.floats(0, 60_000),
    hops=some.integers(0, 30),
)


@pytest.fixture
def table():
    made = Table.new(3)
    yield made
    made.close()


@given(profiles)
def test_a_profile_comes_out_of_its_row_exactly_as_it_went_in(profile):
    assert decode(encode(profile)) == profile


def test_rows_of_different_pairs_do_not_touch_each_other(table):
    every = {(a, b): Profile(delay_ms=a * 10 + b) for a in range(3) for b in range(3)}
    for pair, profile in every.items():
        table.set_profile(*pair, profile)
    for host in range(3):
        table.set_access(host, Access(up_mbit_s=host + 1.0, queue_ms=7.0))
    assert {pair: table.profile(*pair) for pair in every} == every
    assert [table.access(host).up_mbit_s for host in range(3)] == [1.0, 2.0, 3.0]
    assert all(table.counters(*pair) == Counters() for pair in every)


def test_a_link_that_is_down_keeps_its_profile(table):
    assert (table.state(0, 1), table.profile(0, 1)) == (NO_LINK, None)
    table.set_profile(0, 1, Profile(delay_ms=5))
    table.set_state(0, 1, DOWN)
    assert (table.state(0, 1), table.profile(0, 1)) == (DOWN, Profile(delay_ms=5))
    table.set_profile(0, 1, Profile(delay_ms=6))
    assert table.state(0, 1) == UP


def test_the_generation_is_odd_only_while_something_is_written(table):
    before = table.generation
    with table._editing():
        assert table.generation % 2 == 1
    assert table.generation == before + 2


def test_an_edit_that_was_cut_short_does_not_block_the_next(table):
    with pytest.raises(KeyboardInterrupt), table._editing():
        raise KeyboardInterrupt
    assert table.generation % 2 == 1
    table.set_profile(0, 1, Profile())
    assert table.generation % 2 == 0


def test_another_process_sees_the_same_table(table):
    table.set_profile(1, 2, Profile(delay_ms=3))
    other = Table(os.open(f"/proc/self/fd/{table.fd}", os.O_RDWR), 3)
    assert other.profile(1, 2) == Profile(delay_ms=3)
    other.close()


def test_counters_are_in_the_order_of_their_names(table):
    at = table.counts_at(1, 2)
    for offset in range(9):
        table.words[at + offset] = offset + 1
    got = table.counters(1, 2)
    assert got == Counters(1, 2, 3, 4, 5, 6, 7, 8, 9)
    assert got.relay_drops == got.unwritten + got.late == 17


def test_stamps_are_read_back_and_the_oldest_give_way(table):
    table.set_stamping(True)
    names = ["a", "b", "c"]
    table.stamp(1.5, 2.5, 0, 1, 6, 4000, 80, 1500)
    table.stamp(1.6, -1.0, 2, 0, 1, 9, 1, 84)
    assert table.stamps(names) == [
        Stamp(1.5, 2.5, "a", "b", 6, (4000, 80), 1500),
        Stamp(1.6, None, "c", "a", 1, (9, 1), 84),
    ]
    for number in range(STAMPS_KEPT):
        table.stamp(float(number), 0.0, 0, 1, 17, 0, 0, 28)
    kept = table.stamps(names)
    assert [kept[0].in_s, kept[-1].in_s, len(kept)] == [0.0, STAMPS_KEPT - 1.0, STAMPS_KEPT]
    table.set_stamping(True)
    assert table.stamps(names) == []
