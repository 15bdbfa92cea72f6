"""From what ranks say to the records of a part."""

from homeport.errors import GangFailed
from homeport.metrics import Failure, Measurement
from homeport.train.spec import GangResult, GangSpec, Load


class Ledger:
    """Collects the records of one GangSpec, over as many gangs as it takes."""

    def __init__(self, spec: GangSpec):
        self._spec = spec
        self._records = []
        self._loads = []
        self._updates = []  # events, made into records at the end: training is being measured
        self._open = None  # the strategy under way: name, when it began
        self._checksums = {}  # (strategy, update): {rank: checksum}
        self._ended = {}  # strategy: (when it began, steps/s)
        self._counts = {}  # (strategy, rank, metric): how many so far

    @property
    def ended(self) -> int:
        """How many strategies have been trained to their end."""
        return len(self._ended)

    def ready(self, seconds: float, time_s: float) -> None:
        """All ranks are in their group, so long after they were asked for."""
        host = self._spec.host
        self._records.append(
            Measurement(
                metric="ready_ms", value=seconds * 1000, source=host, target=host, time_s=time_s
            )
        )

    def took(self, event: dict) -> None:
        """What a rank measured or began; events of other kinds are not for the records."""
        take = {
            "began": self._began,
            "update": self._updates.append,
            "ended": self._strategy_ended,
        }
        if event["event"] in take:
            take[event["event"]](event)

    def failed(self, strategy: str, failure: GangFailed, time_s: float) -> None:
        """A strategy was not trained to its end."""
        self._close_load(time_s)
        self._records.append(self._failure(strategy, failure, time_s))

    def result(self) -> GangResult:
        """Everything so far; a strategy whose ranks diverged has a Failure and no throughput."""
        for event in self._updates:
            self._update(event)
        self._updates = []
        outcome = [self._outcome(strategy, *facts) for strategy, facts in self._ended.items()]
        return GangResult([*self._records, *(one for one in outcome if one)], self._loads)

    def _began(self, event: dict) -> None:
        self._open = event["strategy"], event["time_s"]

    def _strategy_ended(self, event: dict) -> None:
        began = self._open[1]
        self._close_load(event["time_s"])
        self._ended[event["strategy"]] = began, event["rate"]

    def _close_load(self, end_s: float) -> None:
        if self._open is None:
            return
        (strategy, start_s), self._open = self._open, None
        self._loads.append(Load(strategy, start_s, end_s))
        for site in dict.fromkeys(self._spec.workers):
            self._records.append(
                Measurement(
                    metric="load_s",
                    value=end_s - start_s,
                    source=site,
                    target=self._spec.host,
                    strategy=strategy,
                    time_s=start_s,
                )
            )

    def _update(self, event: dict) -> None:
        update, rank = event["update"], event["rank"]
        warm = update >= self._spec.warmup_updates
        common = {
            "source": self._spec.source(rank),
            "target": self._spec.host,
            "strategy": event["strategy"],
            "phase": "loaded" if warm else "warmup",
            "time_s": event["time_s"],
            "rank": rank,
        }
        for metric, value in event["values"].items():
            self._records.append(
                Measurement(metric=metric, value=float(value), sequence=update, **common)
            )
        if "parameter_checksum" in event["values"]:
            seen = self._checksums.setdefault((event["strategy"], update), {})
            seen[rank] = event["values"]["parameter_checksum"]
        for wait_ms, wire_ms in event["syncs"] if rank else ():
            self._numbered("sync_wait_ms", wait_ms, common)
            self._numbered("sync_wire_ms", wire_ms, common)
        for total in event["returns"]:
            self._numbered("episode_return", total, common)

    def _numbered(self, metric: str, value: float, common: dict) -> None:
        """A measurement that counts on its own through a strategy, whatever the update."""
        key = common["strategy"], common["rank"], metric
        sequence = self._counts.get(key, 0)
        self._counts[key] = sequence + 1
        self._records.append(Measurement(metric=metric, value=value, sequence=sequence, **common))

    def _outcome(self, strategy: str, began: float, rate: float | None):
        if diverged := self._divergence(strategy):
            return self._failure(strategy, diverged, began)
        if rate is None:
            return None
        host = self._spec.host
        return Measurement(
            metric="throughput_steps_s",
            value=rate,
            source=host,
            target=host,
            strategy=strategy,
            phase="loaded",
            time_s=began,
        )

    def _divergence(self, strategy: str) -> GangFailed | None:
        """The first update after which a rank's parameters were not the learner's."""
        for (name, update), seen in sorted(self._checksums.items()):
            usual = seen.get(0)
            odd = next((rank for rank in sorted(seen) if seen[rank] != usual), None)
            if name == strategy and usual is not None and odd is not None:
                cause = f"its parameters differ from the learner's after update {update}"
                return GangFailed(odd, self._spec.places[odd], cause)
        return None

    def _failure(self, strategy: str, failure: GangFailed, time_s: float) -> Failure:
        return Failure(
            kind=type(failure).__name__,
            reason=str(failure),
            source=failure.place,
            target=self._spec.host,
            place=failure.place,
            strategy=strategy,
            time_s=time_s,
        )
