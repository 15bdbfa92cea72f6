"""The emulated world: hosts as namespaces, joined by links with delay, jitter, loss and rate."""

from homeport.emulate import lab, privilege
from homeport.emulate.lab import LabStatus
from homeport.emulate.network import Network
from homeport.emulate.privilege import check
from homeport.emulate.profile import Access, Bursts, Counters, Profile
from homeport.emulate.state import Ended, runtime_folder, sweep
from homeport.emulate.table import Stamp
from homeport.emulate.world import World

__all__ = [
    "Access",
    "Bursts",
    "Counters",
    "Ended",
    "LabStatus",
    "Network",
    "Profile",
    "Stamp",
    "World",
    "check",
    "lab",
    "privilege",
    "runtime_folder",
    "sweep",
]
