"""What ran and on what; and warnings where that itself may have shaped the figures."""

import pytest
from decide import planted

CONTROLLER = {"git_sha": "a1", "lock_sha256": "b2", "tcp_congestion_control": "bbr"}
HOST = {"mtu": 1500, "qdisc": "pfifo_fast", "congestion_control": "cubic", "sysctls": {"x": "1"}}
RELAY = {"priority": "SCHED_RR 1", "drops": 0}
AGENT = {"pid": 7, "versions": {"torch": "2.13.0"}, "cpu": {"model": "x"}}
SITTING = {
    "world": {"hosts": {"hk": HOST, "guangdong": HOST}, "relay": RELAY},
    "agents": {"hk": AGENT},
    "tools": {"hk": {"ping": "iputils 20221126"}},
    "controller": CONTROLLER,
}


def recorded_on(folder, *sittings):
    planted.begun_with(folder, predicted={"parts": 32}, **CONTROLLER)
    for facts in sittings:
        planted.sitting(folder, **facts)


def test_what_the_hosts_ran_is_told_and_not_taken_for_the_controllers(judged):
    facts = judged(lambda s: recorded_on(s, SITTING)).provenance
    assert facts["controller"] == CONTROLLER and facts["predicted"] == {"parts": 32}
    assert "tcp_congestion_control" not in facts and "git_sha" not in facts
    (sitting,) = facts["sittings"]
    assert sitting["world"] == SITTING["world"] and sitting["tools"] == SITTING["tools"]
    assert sitting["world"]["hosts"]["hk"]["congestion_control"] == "cubic"
    assert sitting["agents"] == {"hk": {"versions": {"torch": "2.13.0"}, "cpu": {"model": "x"}}}
    assert sitting["controller"] == {}  # nothing differs from the day the session began


def test_a_session_that_kept_no_record_of_its_sittings_has_none(usual):
    assert usual.provenance["sittings"] == []


def test_a_sitting_that_kept_less_is_no_error(judged):
    got = judged(lambda s: recorded_on(s, {}))
    assert got.provenance["sittings"] == [
        {"world": {}, "tools": {}, "agents": {}, "controller": {}}
    ]


def test_code_that_changed_between_sittings_is_told_and_warned_of(judged):
    other = SITTING | {"controller": CONTROLLER | {"git_sha": "c3", "kernel": "6.1"}}
    got = judged(lambda s: recorded_on(s, SITTING, other))
    assert [s["controller"] for s in got.provenance["sittings"]] == [
        {},
        {"git_sha": "c3", "kernel": "6.1"},
    ]
    (warning,) = [w for w in got.warnings if "Sitting" in w]
    assert warning.startswith("Sitting 2 was measured with another commit than the session began")


def relayed(folder, metric, *values):
    """Values that the network pages of rounds 1 and 4 read off the relay, on every host."""
    for round, value in zip((1, 4), values, strict=True):
        for host in folder.study.measured:
            planted.put(folder, host, round, metric, value)


def warned(decision):
    return [w for w in decision.warnings if "relay" in w]


def test_a_sound_relay_is_no_warning(usual):
    assert warned(usual) == []
    assert usual.provenance["relay"]["drops"] == 0


def test_where_no_page_looked_at_the_relay_nothing_is_known_of_it(judged, demo):
    def unseen(folder):
        for host in demo.measured:
            planted.remove(folder, host, notebook="10_network")

    got = judged(unseen)
    assert got.provenance["relay"] is None and warned(got) == []


@pytest.mark.parametrize(
    ("before", "seen", "told"),
    [
        (0, (0.0, 6.0), "6 packets"),
        (0, (2.0, 6.0), "6 packets"),
        (5, (5.0, 6.0), "1 packet"),  # the world had been up, and had failed, before
        (0, (6.0, 4.0), "10 packets"),  # the world was brought up again
        (9, (1.0, 1.0), "1 packet"),
    ],
)
def test_packets_that_the_relay_failed_are_warned_of(judged, before, seen, told):
    def failing(folder):
        world = {"relay": RELAY | {"drops": before}}
        recorded_on(folder, SITTING | {"world": world})
        relayed(folder, "relay_drops", *seen)

    got = judged(failing)
    (warning,) = warned(got)
    assert got.provenance["relay"] == {
        "drops": int(told.split()[0]),
        "cpu_share": 0.1,
        "until_round": 4,
    }
    assert f"failed {told} (" in warning and "until round 4" in warning
    assert "the emulation itself may have shaped latency and throughput" in warning


def test_the_journal_of_the_session_tells_of_the_relay_to_the_end(judged):
    def failing(folder):
        relayed(folder, "relay_drops", 0.0, 0.0)
        for drops, share in ((5, 0.0), (5, 0.2), (9, 0.6), (1, 0.3)):  # up before; brought up again
            folder.note("relay", time_s=1.0, drops=drops, cpu_share=share)

    got = judged(failing)
    assert got.provenance["relay"] == {"drops": 5, "cpu_share": 0.6, "until_round": 6}
    assert "failed 5 packets" in warned(got)[0] and "60 % of a core" in warned(got)[1]


def test_packets_failed_before_the_session_are_none_of_its_own(judged):
    def failing(folder):
        recorded_on(folder, SITTING | {"world": {"relay": RELAY | {"drops": 5}}})
        relayed(folder, "relay_drops", 5.0, 5.0)

    assert warned(judged(failing)) == []


@pytest.mark.parametrize(
    ("share", "told"), [(0.5, []), (0.73, ["73 % of a core (seen until round 4;"])]
)
def test_a_relay_that_took_more_than_half_a_core_is_warned_of(judged, share, told):
    found = warned(judged(lambda s: relayed(s, "relay_cpu_share", 0.1, share)))
    assert len(found) == len(told) and all(part in w for part, w in zip(told, found, strict=True))
