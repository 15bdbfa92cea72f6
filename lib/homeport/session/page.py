"""What a per-host page calls: joins the running session, or opens one of its own."""

import atexit
import contextlib
import os
import time
from dataclasses import dataclass, field

import pandas as pd

from homeport.background import seen
from homeport.errors import NotFound
from homeport.metrics import Failure, Record
from homeport.params import load_study
from homeport.session import tables
from homeport.session.gateway import VARIABLE, ask, ask_records
from homeport.session.live import Live
from homeport.session.turn import turn
from homeport.store import SessionFolder, Slot, controller_provenance, open_session, write_part

SINGLE = "single"
_OTHERS_TRAIN_S = 120.0  # how long a page waits for its turn: another page's training is over then
_PAGE_TIMEOUT_S = 3600.0  # the runner ends a part much earlier, by its own deadline


@dataclass
class Page:
    """One page on one host in one round. Get it from `open_page`."""

    notebook: str
    folder: SessionFolder
    host: str
    round: int
    live: Live | None  # None: the runner holds the session
    records: list[Record] = field(default_factory=list)
    opened_s: float = field(default_factory=time.time)

    @property
    def study(self):
        return self.folder.study

    def _ask(self, what: str) -> list[Record]:
        if self.live is None:
            return ask_records(os.environ[VARIABLE], **self._request(what))
        if what == "train":
            with turn(f"page {self.notebook}", wait_s=_OTHERS_TRAIN_S):
                return self.live.train(self.host, self.round).records
        return self.live.relay(self.host)

    def _request(self, what: str) -> dict:
        where = {"session": self.folder.session, "host": self.host, "round": self.round}
        return {"ask": what, "timeout_s": _PAGE_TIMEOUT_S, **where}

    def watch(self, seconds: float) -> pd.DataFrame:
        """What the background saw so far, a row per site, quantity and label.

        Alone, a page first waits `seconds` so that there is something to see; within a run
        the streams have long been going.
        """
        if self.live is not None:
            time.sleep(seconds)
        return tables.background(seen(self.folder, self.host))

    def relay(self) -> pd.DataFrame:
        """Whether the emulation itself is sound: the relay's share of a core, and its drops."""
        got = self._ask("relay")
        self.records += got
        return tables.plain(got)

    def train(self) -> pd.DataFrame:
        """Run the mini distributed PPO with every strategy; a row per strategy."""
        got = self._ask("train")
        self.records += got
        return tables.training(got)

    def stages(self) -> pd.DataFrame:
        """Where the time of an update went, a row per strategy and rank."""
        return tables.stages(self.records)

    def traffic(self) -> pd.DataFrame:
        """Bytes per update: payload by theory beside what the interface counted."""
        return tables.traffic(self.records, self.host)

    def failures(self) -> pd.DataFrame:
        """What should have been measured and was not."""
        return tables.failures(self.records)

    def save(self) -> str:
        """Write this part, once and atomically; gives the file's path.

        With a failure among its records the part is not complete: it is kept as an attempt and
        a resumed run measures the slot again.
        """
        round = self.round
        if self.live is not None:  # a cell run again in an open page is a new measurement
            while self.folder.part_file(self.host, round, self.notebook).exists():
                round += 1
        if not self.records:
            reason = "no cell of the page measured anything before it saved"
            self.records.append(Failure(kind="NothingMeasured", reason=reason, place=self.host))
        complete = not any(isinstance(record, Failure) for record in self.records)
        choose = self.folder.part_file if complete else self.folder.failure_file
        path = choose(self.host, round, self.notebook)
        slot = Slot.of(self.study, self.folder.session, self.host, round, self.notebook)
        facts = {
            "started_s": self.opened_s,
            "ended_s": time.time(),
            "sitting": self.folder.sittings(),
        }
        if self.live is None:
            facts |= ask(os.environ[VARIABLE], **self._request("about"))
        write_part(path, self.study, slot, self.records, complete=complete, provenance=facts)
        if self.live is not None:
            self.live.close_rounds()
            self.live.begin_round(round + 1)
        return str(path)


def open_page(notebook: str, study: str, host: str, session: str = SINGLE, round: int = 1) -> Page:
    """Join the session the runner holds, or open one marked `single` that ends with the kernel.

    Raises NotFound for a study, host or session that does not exist, Busy while a run measures.
    """
    if session != SINGLE:
        return Page(notebook, _running(study, session), host, round, live=None)
    model = load_study(study)
    if host not in model.measured:
        raise NotFound("host in this study", host, model.measured)
    with turn(f"page {notebook}"):
        pass  # while a run measures, even bringing up a page's own world would disturb it
    folder = SessionFolder.create(model, kind=SINGLE, provenance=controller_provenance())
    stack = contextlib.ExitStack()
    live = stack.enter_context(Live(folder, [host]))
    atexit.register(stack.close)
    live.begin_round(round)
    return Page(notebook, folder, host, round, live)


def _running(study: str, session: str) -> SessionFolder:
    if VARIABLE not in os.environ:
        raise NotFound(
            "running session", session, [f"none; leave session = {SINGLE!r} to run this page alone"]
        )
    return open_session(study, session)
