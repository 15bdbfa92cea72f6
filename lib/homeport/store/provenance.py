"""What ran, on what: the facts that make a number traceable."""

import hashlib
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

from homeport.params import root

_PACKAGES = ("homeport", "torch", "stable-baselines3", "gymnasium", "numpy", "papermill")


def controller_provenance() -> dict:
    """Facts about this machine and this code; what cannot be told is None, never invented."""
    top = root()
    return {
        "git_sha": _git(top, "rev-parse", "HEAD"),
        "git_dirty": _dirty(top),
        "lock_sha256": _sha256(top / "requirements.lock"),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cpu_model": _cpu_model(),
        "cpus": os.cpu_count(),
        "tcp_congestion_control": _read("/proc/sys/net/ipv4/tcp_congestion_control"),
        "clocksource": _read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    }


def _git(folder: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _dirty(folder: Path) -> bool | None:
    status = _git(folder, "status", "--porcelain")
    return None if status is None else bool(status)


def _sha256(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def _cpu_model() -> str | None:
    for line in (_read("/proc/cpuinfo") or "").splitlines():
        if line.startswith(("model name", "Model")):
            return line.split(":", 1)[1].strip()
    return None
