"""The life of one rank: show its facts, join the group, run every strategy, leave in order.

Started by the warm agent with the variables of torch's `env://` rendezvous (MASTER_ADDR,
MASTER_PORT, RANK, WORLD_SIZE) and GLOO_SOCKET_IFNAME in its environment.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from datetime import timedelta

import torch
import torch.distributed as dist

from homeport.errors import GangFailed
from homeport.train import guards, interfaces, ppo
from homeport.train.clocks import WireCounter
from homeport.train.exchange import star
from homeport.train.spec import Job
from homeport.train.strategy import Trainee, Training

# Workers are more patient than the learner: when one worker falls silent, the learner notices
# first and names it, before the others give up on the learner.
_MORE_PATIENCE = 4 / 3
_LAST_PATIENCE = 3 / 2
_SWITCH_S = 0.0005  # how fast the learner's listening threads get the interpreter


def live(job: Job, address: str, listen_fd: int | None, emit: Callable[..., None]) -> None:
    """Run this rank of `job` to its end.

    `address` is the one its peers reach it at; `listen_fd` (rank 0) a socket listening on
    MASTER_ADDR and MASTER_PORT. Raises GangFailed naming the rank that was lost or is unlike the
    others; anything else that is raised is this rank's own fault.
    """
    torch.set_num_threads(1)
    sys.setswitchinterval(_SWITCH_S)
    rank, places = int(os.environ["RANK"]), job.places
    interface = os.environ["GLOO_SOCKET_IFNAME"]
    with _learner_answers(job, rank, emit):
        store = _meet(job, rank, listen_fd)
        _check_places(store, rank, places, address, interface)
        patience, world = _timeout(job, rank), len(places)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=world, timeout=patience)
    emit("joined")
    counter = WireCounter(interface) if job.counts_bytes(rank) else None
    exchange = None
    for strategy in job.strategies:
        trainee = Trainee(job, strategy, rank)
        _check_start(store, trainee, places)
        if exchange is None:
            size = len(ppo.flat_parameters(trainee.model))
            with _learner_answers(job, rank, emit):
                exchange = star(dist.group.WORLD, rank, places, size)
        Training(trainee, exchange, emit, counter).run()
    _leave(store, rank, places)


def _timeout(job: Job, rank: int) -> timedelta:
    return timedelta(seconds=job.timeout_s * (_MORE_PATIENCE if rank else 1))


@contextlib.contextmanager
def _learner_answers(job: Job, rank: int, emit: Callable[..., None]):
    """End this rank, blaming the learner, if what is done inside hangs at a worker.

    torch's own timeouts end nearly every wait and say more; but a store whose process is stopped,
    or that is cut off after it was reached, keeps its clients waiting for ever.
    """

    def give_up():
        emit("failed", blames=0, cause="silent for longer than the timeout (its store hangs)")
        os._exit(1)

    timer = threading.Timer(job.timeout_s * _LAST_PATIENCE, give_up)
    timer.daemon = True
    if rank:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _meet(job: Job, rank: int, listen_fd: int | None) -> dist.TCPStore:
    """The key-value store at rank 0: what the ranks meet in."""
    own = {} if listen_fd is None else {"master_listen_fd": listen_fd}
    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    try:
        return dist.TCPStore(
            host,
            port,
            is_master=rank == 0,
            timeout=_timeout(job, rank),
            wait_for_workers=False,
            **own,
        )
    except RuntimeError as unreachable:
        cause = f"its store at {host}:{port} cannot be reached ({str(unreachable)[:120]})"
        raise GangFailed(0, job.places[0], cause) from unreachable


def _check_places(
    store: dist.Store, rank: int, places: list[str], address: str, interface: str
) -> None:
    """Before any connection between ranks: could they reach each other, and are they alike?"""
    facts = {
        "address": address,
        "advertised": interfaces.first_address(interface),
        "versions": guards.versions(),
    }
    guards.share(store, "place", rank, facts)
    guards.check_places(guards.read(store, "place", places), places)


def _check_start(store: dist.Store, trainee: Trainee, places: list[str]) -> None:
    """Let the learner make sure that all ranks hold the same parameters before they exchange any.

    The others need not wait for its word: it takes nothing from them before.
    """
    topic = f"start/{trainee.strategy.name}"
    model = trainee.model
    shown = {"parameters": ppo.fingerprint(model), "checksum": ppo.checksum(model)}
    guards.share(store, topic, trainee.rank, shown)
    if trainee.rank == 0:
        facts = guards.read(store, topic, places)
        for key in shown:
            guards.check_equal([fact[key] for fact in facts], places, f"initial {key}")


def _leave(store: dist.Store, rank: int, places: list[str]) -> None:
    """The learner goes last: closing with unread data would reset the last answers' connection."""
    guards.share(store, "left", rank, True)
    if rank == 0:
        guards.read(store, "left", places)
