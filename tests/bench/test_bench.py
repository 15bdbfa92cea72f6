"""Yardsticks against peers, as ratios within one run. `make bench` prints the figures.

Every ratio is the median of interleaved pairs: this machine and its load are part of both sides.
"""

import os
import socket
import statistics
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
import synthetic

from homeport import decide, emulate, store, train
from homeport.places import Local, stop
from homeport.probes import interaction

pytestmark = pytest.mark.bench
TRUTHS = {
    "hk": synthetic.Truth(31.0, {"star": 4500.0, "local": 9500.0}),
    "tokyo": synthetic.Truth(142.0, {"star": 600.0, "local": 2200.0}, loss=0.006),
    "la": synthetic.Truth(204.0, {"star": 1100.0, "local": 3800.0}),
}


@pytest.fixture
def tell(capsys):
    def say(text):
        with capsys.disabled():
            print(f"\n  {text}", end="")

    return say


def seconds(do) -> float:
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


def ratio_of(ours, peer, pairs: int) -> float:
    """The median of peer's time over ours, in interleaved pairs."""
    return statistics.median(seconds(peer) / seconds(ours) for _ in range(pairs))


@pytest.mark.parametrize(("n_envs", "least"), [(1, 2.0), (8, 3.5)])
def test_training_against_stock_stable_baselines3_with_one_env(tell, demo, n_envs, least):
    import torch
    from stable_baselines3 import PPO

    from homeport.train import ppo
    from homeport.train.rollout import Collector

    torch.set_num_threads(1)
    batch = 128
    work = demo.workload.model_copy(
        update={"n_envs": n_envs, "n_steps": 512, "batch_size": batch, "n_epochs": 4}
    )
    envs = ppo.make_envs(work, n_envs)
    model = ppo.build(work, envs, seed=1)
    collector = Collector(model, envs, np.random.default_rng(1))
    stock = PPO("MlpPolicy", work.env_id, n_steps=512, batch_size=batch, n_epochs=4, device="cpu")
    updates = 6

    def ours():
        for _ in range(updates):
            collector.collect()
            model.train()

    ours(), stock.learn(512)
    faster = n_envs * ratio_of(ours, lambda: stock.learn(512 * updates), pairs=3)
    tell(f"training, {n_envs} env(s): {faster:.2f} x stock SB3 with one env (target {least})")
    assert faster >= least


@pytest.mark.xfail(
    strict=True,
    reason="known shortfall: 0.8 x since every row is verified; most of the time goes into making "
    "strings of the frame, which Arrow does three times as fast",
)
def test_a_thousand_parts_are_read_faster_than_pandas_concatenates(tell, demo, data_folder):
    study = demo.model_copy(update={"rounds": 110, "notebooks": {"20_training": "all"}})
    folder = synthetic.session(study, TRUTHS)
    files = sorted(folder.path.glob("*/*/*/*.parquet"))
    assert len(files) >= 880

    def concat():
        pd.concat([pd.read_parquet(path) for path in files])

    faster = ratio_of(lambda: store.read(folder), concat, pairs=3)
    tell(f"reading {len(files)} parts: {faster:.1f} x pandas concat")
    assert faster >= 2


def test_judging_the_demo_takes_less_than_a_second(tell, demo, data_folder):
    recorded = store.read(synthetic.session(demo, TRUTHS))
    decide.decide(recorded)
    took = statistics.median(seconds(lambda: decide.decide(recorded)) for _ in range(3))
    tell(f"judging the demo: {took:.2f} s after imports")
    assert took <= 1


def test_the_interaction_probe_against_a_raw_socket_echo(tell, tmp_path):
    here = Local("here")
    child = here.start(
        interaction.server_command(
            here.address, deadline_s=60, observation_size=4, hidden=[64, 64], actions=2
        )
    )
    port = int(child.stdout.readline().split()[1])
    try:
        with echo_server() as peer:
            steps = statistics.median(back_to_back(port) for _ in range(3))
            echoes = statistics.median(back_to_back(peer, reply_bytes=24) for _ in range(3))
    finally:
        stop(child)
    tell(f"one step back to back: {steps:.0f} µs, raw TCP echo {echoes:.0f} µs")
    assert steps <= 60 + 3 * echoes  # numpy's forward pass is about 60 µs of it


class echo_server:
    """A TCP server that answers every message with 24 bytes."""

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.serve, daemon=True).start()
        return self.listener.getsockname()[1]

    def serve(self):
        try:
            while True:
                connection, _ = self.listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with connection:
                    while connection.recv(4096):
                        connection.sendall(bytes(24))
        except OSError:
            return

    def __exit__(self, *_):
        self.listener.close()


def back_to_back(port, reply_bytes=24) -> float:
    """Median microseconds of a request and its answer, one after another."""
    from homeport.probes.interaction.wire import receive_exactly, request

    took = []
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for sequence in range(2000):
            began = time.perf_counter()
            connection.sendall(request(sequence, (0.0,) * 4))
            receive_exactly(connection, reply_bytes)
            took.append(time.perf_counter() - began)
    return 1e6 * statistics.median(took)


@pytest.mark.world
@pytest.mark.parametrize("host", ["hk", "la"])
def test_a_synchronisation_against_its_physical_bound(tell, demo, host):
    with emulate.World.from_study(demo) as world:
        agents = train.start_agents([world.place(n) for n in (*demo.sites, host)])
        try:
            study = demo.model_copy(update={"strategies": demo.strategies[:1]})
            records = train.run_gang(agents, train.GangSpec.of(study, host, 1)).records
        finally:
            for agent in agents.values():
                agent.stop()
    wires = [r.value for r in records if r.metric == "sync_wire_ms" and r.phase == "loaded"]
    payload = next(r.value for r in records if r.metric == "payload_tx_bytes" and r.rank == 1)
    payload /= demo.workload.syncs_per_update
    link = demo.link("guangdong", host)
    # One round trip, and both workers' payload over the one link in each direction.
    workers = demo.sites["guangdong"].workers
    bound = link.rtt_ms + 2 * workers * payload * 8 / (link.rate_mbit_s * 1000)
    median = statistics.median(wires)
    tell(f"{host}: one synchronisation {median:.1f} ms, bound {bound:.1f} ms")
    assert median <= 1.3 * bound


def test_warm_ranks_against_torchruns_cold_start(tell, demo, tmp_path):
    here = [Local("guangdong"), Local("hk")]
    agents = train.start_agents(here)
    try:
        study = demo.model_copy(update={"strategies": demo.strategies[:1], "training_s": 0.2})
        ready = []
        for round in range(3):
            records = train.run_gang(agents, train.GangSpec.of(study, "hk", round + 1)).records
            ready += [r.value / 1000 for r in records if r.metric == "ready_ms"]
    finally:
        for agent in agents.values():
            agent.stop()
    script = tmp_path / "cold.py"
    script.write_text(
        "import torch.distributed as dist, stable_baselines3\n"
        "dist.init_process_group('gloo')\ndist.barrier()\n"
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=3"]
    command += ["--master-port=29617", str(script)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    cold = seconds(
        lambda: subprocess.run(command, check=True, capture_output=True, env=environment)
    )
    warm = statistics.median(ready)
    tell(f"ranks in their group: {warm:.3f} s warm, torchrun {cold:.1f} s cold")
    assert warm <= cold / 20
