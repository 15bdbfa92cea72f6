"""Round-trip time and loss, from the system's ping, all session long."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from homeport.errors import UnreadableOutput
from homeport.metrics import Measurement

# An echo without an answer for this long is lost; younger ones are still under way.
LOST_AFTER_S = 2.0

_HEADER = re.compile(r"PING .*bytes of data|PING .*data bytes")
_REPLY = re.compile(
    r"\[(?P<at>\d+\.\d+)\] \d+ bytes from .*icmp_seq=(?P<seq>\d+) .*time=(?P<ms>[\d.]+) ms$"
)
_SILENT = re.compile(r"\[(?P<at>\d+\.\d+)\] no answer yet for icmp_seq=(?P<seq>\d+)$")
_ERROR = re.compile(r"\[(?P<at>\d+\.\d+)\] From \S+.* icmp_seq=(?P<seq>\d+) (?P<why>.+)$")
_WRAP = 65536  # ICMP carries 16 bits of sequence number


@dataclass(frozen=True)
class Echo:
    """One echo request: when it left (epoch seconds), and its round trip; None when lost."""

    sequence: int
    sent_s: float
    rtt_ms: float | None


def command(address: str, *, interval_s: float) -> list[str]:
    """The argument list of a ping that runs until it is ended.

    -D stamps every line, -O tells of an echo still unanswered when the next one leaves.
    """
    return ["ping", "-n", "-D", "-O", "-i", f"{interval_s:g}", "--", address]


def parse(text: str, *, interval_s: float) -> list[Echo]:
    """Read what such a ping printed so far into echoes, in the order they were sent.

    A reply wins over an earlier "no answer yet" (it was only late); duplicates are left out;
    numbers are unwrapped beyond 65535. An echo is lost once the output goes on for
    LOST_AFTER_S without its reply; later ones are still under way and not listed. A last line
    that a kill cut short is ignored. Raises UnreadableOutput for the output of another tool.
    """
    lines = text.splitlines()
    if not lines:
        return []
    if not _HEADER.match(lines[0]):
        raise UnreadableOutput("ping", "a line 'PING ... bytes of data' first", text)
    whole = lines if text.endswith("\n") else lines[:-1]
    answered, silent, last_s = _collect(whole, interval_s)
    lost = {n: at for n, at in silent.items() if n not in answered}
    echoes = [Echo(n, sent, rtt) for n, (sent, rtt) in answered.items()]
    echoes += [Echo(n, sent, None) for n, sent in lost.items() if sent + LOST_AFTER_S <= last_s]
    return sorted(echoes, key=lambda echo: echo.sequence)


def _collect(lines: list[str], interval_s: float):
    answered: dict[int, tuple[float, float]] = {}
    silent: dict[int, float] = {}
    highest, last_s = 0, 0.0
    for line in lines[1:]:
        found = _REPLY.match(line) or _SILENT.match(line) or _ERROR.match(line)
        if found is None:
            continue
        number = _unwrap(int(found["seq"]), highest)
        highest, last_s = max(highest, number), float(found["at"])
        if found.re is _REPLY:
            rtt_ms = float(found["ms"])
            answered.setdefault(number, (last_s - rtt_ms / 1000, rtt_ms))
        else:
            silent.setdefault(number, last_s - interval_s)
    return answered, silent, last_s


def _unwrap(number: int, highest: int) -> int:
    rounds = round((highest - number) / _WRAP)
    return number + max(rounds, 0) * _WRAP


def measurements(echoes: list[Echo], *, source: str, target: str) -> Iterator[Measurement]:
    """One rtt_ms per answered echo and one lost_echo per lost one."""
    for echo in echoes:
        lost = echo.rtt_ms is None
        yield Measurement(
            metric="lost_echo" if lost else "rtt_ms",
            value=1.0 if lost else echo.rtt_ms,
            source=source,
            target=target,
            sequence=echo.sequence,
            time_s=echo.sent_s,
        )
