"""May this process build a world, and if not, how can it come to?"""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

from homeport.emulate import linux, state
from homeport.errors import NoEmulation

_TUN = "/dev/net/tun"
_TOOLS = {
    "ip": "iproute2",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "unshare": "util-linux",
}
_MAPPED = "HOMEPORT_MAPPED"  # set in the environment of a command that was started anew
_TRY_S = 10.0


def check() -> None:
    """Return if a world can be built here, as root or in user namespaces; else NoEmulation."""
    if not sys.platform.startswith("linux"):
        raise NoEmulation(
            f"{sys.platform} has no network namespaces",
            "Use a Linux machine or virtual machine, or the recorded sample.",
        )
    for tool, package in _TOOLS.items():
        if shutil.which(tool) is None:
            raise NoEmulation(f"{tool} is missing", f"Install it: apt-get install {package}.")
    _check_tun()
    _check_namespaces()


def _check_tun() -> None:
    try:
        fd = os.open(_TUN, os.O_RDWR | os.O_CLOEXEC)
        try:
            linux.check_tun(fd)
        finally:
            os.close(fd)
    except FileNotFoundError as missing:
        remedy = "Load it (modprobe tun); give a container --device /dev/net/tun."
        raise NoEmulation(f"there is no {_TUN}", remedy) from missing
    except OSError as refused:
        remedy = f"Run as root, or let users open it: chmod 0666 {_TUN}."
        raise NoEmulation(f"{_TUN} cannot be used ({refused.strerror})", remedy) from refused


def _check_namespaces() -> None:
    if os.geteuid() == 0:
        kinds = "--net", "--mount"
        remedy = "Give the container --cap-add SYS_ADMIN --cap-add NET_ADMIN, or run outside it."
    else:
        kinds = "--user", "--map-root-user", "--net", "--mount"
        remedy = (
            "Run as root, or allow user namespaces: sysctl kernel.unprivileged_userns_clone=1, "
            "user.max_user_namespaces above 0, kernel.apparmor_restrict_unprivileged_userns=0."
        )
    done = subprocess.run(
        ["unshare", *kinds, "--", "true"], capture_output=True, text=True, timeout=_TRY_S
    )
    if done.returncode:
        raise NoEmulation(f"namespaces are refused ({done.stderr.strip()})", remedy)


def ensure_privileges(argv: list[str] | None = None) -> None:
    """Return with the privilege to build worlds, starting this very command anew if need be.

    Root returns at once. Anybody else starts again as the root of a user namespace: that of the
    lab that is up, or a new one. `argv` is the command to start then, if it is not the one that
    runs now (sys.argv means that one too). Raises NoEmulation where neither is possible.
    """
    if os.geteuid() == 0:
        if os.environ.get(_MAPPED):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
                linux.raise_loopback(any_socket.fileno())
        return
    check()
    this = [sys.executable, *sys.orig_argv[1:]]
    command = this if argv is None or argv == sys.argv else argv
    # The root of a user namespace would look in another folder than its user did.
    told = {_MAPPED: "1", "HOMEPORT_RUNTIME": str(state.runtime_folder())}
    sys.stdout.flush()
    sys.stderr.flush()
    leader = _way_in()
    os.execvpe(leader[0], [*leader, "--", *command], {**os.environ, **told})


def _way_in() -> list[str]:
    if (lab := state.running_lab()) is None:
        return ["unshare", "--user", "--map-root-user", "--net", "--mount"]
    which = ["--target", str(lab.relay.pid), "--user", "--net", "--mount"]
    return ["nsenter", *which, "--preserve-credentials", f"--wdns={Path.cwd()}"]
