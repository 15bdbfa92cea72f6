"""A study small enough to be measured for real within a test, and the command line on it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import yaml

from homeport.params import root

HOMEPORT = Path(sys.executable).parent / "homeport"


def study(folder: Path, **changes) -> Path:
    """Copy params/ into `folder` and write a study called small, with `changes` to its keys."""
    for source in (root() / "params").rglob("*.yml"):
        copy = folder / source.relative_to(root() / "params")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(source.read_text())
    content = yaml.safe_load((folder / "studies" / "demo.yml").read_text())
    content |= {"candidates": ["hk", "la"], "rounds": 2, "training_s": 0.8, "warmup_updates": 1}
    content |= {"notebooks": {"10_network": [1], "20_training": "all"}, **changes}
    path = folder / "studies" / "small.yml"
    path.write_text(yaml.safe_dump(content))
    return path


def environment(data: Path) -> dict:
    """The environment of a command that keeps its runs in `data`, and its turn beside it.

    So a suite may run while something is measured: its own runs are about how, not how fast.
    """
    own = {"HOMEPORT_DATA": str(data), "HOMEPORT_RUNTIME": f"{data}-runtime"}
    return {**os.environ, **own, "HOMEPORT_ROOT": str(root())}


def homeport(data: Path, *words: object, timeout_s: float = 240) -> subprocess.CompletedProcess:
    """Run the command line to its end."""
    command = [str(HOMEPORT), *map(str, words)]
    return subprocess.run(
        command, env=environment(data), capture_output=True, text=True, timeout=timeout_s
    )


def started(data: Path, *words: object, log: Path) -> subprocess.Popen:
    """Start the command line in a session of its own, its output in `log`."""
    with log.open("w") as out:
        return subprocess.Popen(
            [str(HOMEPORT), *map(str, words)],
            env=environment(data),
            stdout=out,
            stderr=out,
            start_new_session=True,
            preexec_fn=listen_to_ctrl_c,
        )


def listen_to_ctrl_c():
    """A suite that was put in the background ignores SIGINT, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def kill(child: subprocess.Popen, signal_number: int = signal.SIGKILL) -> int:
    """Send one process (not its children) a signal and wait for its end; an ended one is fine."""
    if child.poll() is None:
        os.kill(child.pid, signal_number)
    return child.wait(60)


def wait_for(condition, *, timeout_s: float, what: str):
    """Poll until `condition()` is true; AssertionError names what did not happen."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what} did not happen within {timeout_s:g} s")


def parts(data: Path) -> dict[str, str]:
    """The complete parts of every session in `data`: relative path and content hash of each."""
    import hashlib

    return {
        str(path.relative_to(data)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(data.glob("*/*/*/*/*/[!.]*.parquet"))
    }


def decision(data: Path) -> dict:
    """The decision of the only session in `data`."""
    (path,) = data.glob("*/*/report/decision.json")
    return json.loads(path.read_text())
