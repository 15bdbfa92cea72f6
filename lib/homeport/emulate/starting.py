"""How a relay is started, and what a refusal of the kernel means to the user."""

import contextlib
import errno
import json
import os
import secrets
import select
import subprocess
import sys
import time

from homeport.emulate import addresses
from homeport.emulate.state import Process, State, boot_id
from homeport.emulate.table import Table
from homeport.errors import NoEmulation, WorldBroken

_READY_S = 20.0


def start_relay(
    hosts: list[str],
    aliases: dict[str, str],
    table: Table,
    *,
    congestion_control: str,
    mtu: int,
    seed: int,
    study: str,
    lasting: bool,
) -> tuple[subprocess.Popen, State]:
    """Start a relay that has built these hosts, and say where everything is.

    The relay dies with the calling thread unless it is `lasting`. Raises NoEmulation if the
    kernel refuses, WorldBroken if the relay dies or stays silent.
    """
    world = secrets.token_hex(8)
    order = {
        "id": world,
        "hosts": {name: addresses.host(i) for i, name in enumerate(hosts)},
        "aliases": aliases,
        "table": table.fd,
        "congestion_control": congestion_control,
        "mtu": mtu,
        "seed": seed,
        "owner": None if lasting else os.getpid(),
    }
    relay = subprocess.Popen(
        # -P: nothing in the working folder may stand in for a module.
        [sys.executable, "-P", "-m", "homeport.emulate.relay"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=[table.fd],
        start_new_session=True,  # Ctrl-C is for us; we end the relay in our own time
    )
    try:
        answer = _answer(relay, order)
        if "error" in answer:
            raise _refusal(answer, congestion_control)
        process = Process.of(answer["pid"])
        if process is None:
            raise WorldBroken(f"the relay died at once: {_last_words(relay)}")
    except BaseException:
        end_relay(relay)
        raise
    return relay, State(
        id=world,
        kind="lab" if lasting else "run",
        study=study,
        relay=process,
        owner=process if lasting else Process.of(os.getpid()),
        aliases=aliases,
        facts=answer["hosts"],
        table=table.fd,
        priority=answer["priority"],
        seed=seed,
        began_s=time.monotonic(),
        spent_s=answer["cpu_s"],
        boot=boot_id(),
    )


def _answer(relay: subprocess.Popen, order: dict) -> dict:
    with contextlib.suppress(BrokenPipeError):
        relay.stdin.write(json.dumps(order) + "\n")
        relay.stdin.flush()
    if not select.select([relay.stdout], [], [], _READY_S)[0]:
        raise WorldBroken(f"the relay was not ready within {_READY_S:g} s")
    line = relay.stdout.readline()
    if not line:
        raise WorldBroken(f"the relay died before it was ready: {_last_words(relay)}")
    return json.loads(line)


def _last_words(relay: subprocess.Popen) -> str:
    relay.kill()
    return relay.communicate()[1].strip()[-300:]


def end_relay(relay: subprocess.Popen) -> None:
    """End a relay that we started; safe to call twice."""
    relay.kill()
    relay.wait()
    for stream in (relay.stdin, relay.stdout, relay.stderr):
        with contextlib.suppress(BrokenPipeError):
            stream.close()


def _refusal(answer: dict, congestion_control: str) -> NoEmulation:
    """What the user is told when `privilege.check` saw no reason, but the relay met one."""
    said = answer["error"]
    if "congctl" in said or "ip -batch" in said:
        remedy = f"Load tcp_{congestion_control} (modprobe), or choose another congestion_control."
        return NoEmulation(f"{congestion_control} was refused ({said})", remedy)
    if answer["number"] == errno.EPERM:
        remedy = "Run as root, or through `homeport`, which uses user namespaces where it may."
        return NoEmulation(f"no privilege to make network namespaces ({said})", remedy)
    return NoEmulation(said, "The recorded sample can be judged on any machine.")
