import re
import subprocess
import time
from pathlib import Path

import pytest

from homeport.errors import UnreadableOutput
from homeport.metrics import Measurement
from homeport.places import Local, stop
from homeport.probes import ping
from homeport.probes.ping import Echo

RECORDED = Path(__file__).parents[1] / "recorded"


def recorded(name):
    return (RECORDED / f"{name}.txt").read_text()


def read(text):
    return ping.parse(text, interval_s=0.2)


def test_every_reply_is_an_echo_that_left_one_round_trip_earlier():
    first, *_ = read(recorded("ping_stream"))
    assert first == Echo(1, pytest.approx(1796000000.100000 - 0.0312, abs=1e-6), 31.2)


def test_a_reply_that_was_only_late_is_no_loss():
    # At 204 ms and five echoes a second every reply comes after "no answer yet".
    by_number = {echo.sequence: echo for echo in read(recorded("ping_stream"))}
    assert by_number[2].rtt_ms == 204


def test_an_echo_that_never_came_back_is_lost_at_the_time_it_left():
    by_number = {echo.sequence: echo for echo in read(recorded("ping_stream"))}
    assert by_number[4].rtt_ms is None
    assert by_number[4].sent_s == pytest.approx(1796000000.900 - 0.2, abs=1e-6)


def test_a_duplicate_counts_once():
    assert [e.sequence for e in read(recorded("ping_stream"))].count(5) == 1


def test_a_destination_reported_unreachable_is_lost():
    by_number = {echo.sequence: echo for echo in read(recorded("ping_stream"))}
    assert by_number[6].rtt_ms is None


def test_the_youngest_echoes_are_under_way_not_lost():
    numbers = [echo.sequence for echo in read(recorded("ping_stream"))]
    assert max(numbers) == 20 and 19 not in numbers


def test_numbers_go_on_after_65535():
    assert [e.sequence for e in read(recorded("ping_wrap"))] == [65534, 65535, 65536, 65537]


def test_a_line_cut_short_by_a_kill_is_ignored():
    text = recorded("ping_stream")
    cut = text[: text.rindex("time=") + len("time=3")]
    assert max(e.sequence for e in read(cut)) < 20


def test_nothing_printed_yet_is_no_echo():
    assert read("") == []


def test_output_of_another_tool_is_refused_with_the_text():
    with pytest.raises(UnreadableOutput, match="PING") as caught:
        read("ping: unknown host hk\n")
    assert caught.value.text.startswith("ping: unknown host")


def test_every_prefix_of_real_output_is_readable():
    text = recorded("ping_stream")
    header = text.index("\n") + 1
    for end in range(header, len(text)):
        for echo in read(text[:end]):
            assert echo.rtt_ms is None or 0 < echo.rtt_ms < 1000


def test_an_echo_is_lost_once_the_output_went_on_for_two_seconds():
    head, reply = "PING 127.0.0.1 (127.0.0.1) 56(84) bytes of data.\n", "64 bytes from 127.0.0.1:"
    text = head + "[10.2] no answer yet for icmp_seq=1\n"
    assert read(text + f"[11.9] {reply} icmp_seq=9 ttl=64 time=0.1 ms\n")[0].sequence == 9
    lost, last = read(text + f"[12.0] {reply} icmp_seq=9 ttl=64 time=0.1 ms\n")
    assert lost == Echo(1, pytest.approx(10.0), None) and last.sequence == 9


def test_echoes_become_measurements_and_a_lost_one_is_no_time():
    echoes = [Echo(1, 10.0, 31.2), Echo(2, 10.2, None)]
    found = list(ping.measurements(echoes, source="guangdong", target="hk"))
    pair = {"source": "guangdong", "target": "hk"}
    assert found == [
        Measurement(metric="rtt_ms", value=31.2, sequence=1, time_s=10.0, **pair),
        Measurement(metric="lost_echo", value=1.0, sequence=2, time_s=10.2, **pair),
    ]


def test_loopback_answers_every_time(tmp_path):
    here, raw = Local("here"), tmp_path / "ping.txt"
    with raw.open("w") as out:
        child = here.start(ping.command(here.address, interval_s=0.2), stdout=out)
        time.sleep(1.5)
        stop(child)
    echoes = ping.parse(raw.read_text(), interval_s=0.2)
    assert [e.sequence for e in echoes] == list(range(1, len(echoes) + 1))
    assert len(echoes) >= 5 and all(e.rtt_ms < 50 for e in echoes)
    assert abs(echoes[-1].sent_s - time.time()) < 5
    assert re.search(r"ping.*127\.0\.0\.1", " ".join(child.args))
    assert subprocess.run(["ps", "-p", str(child.pid)], capture_output=True).returncode == 1
