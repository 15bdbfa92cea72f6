"""Parameter files: YAML on disk, frozen models in memory, errors that name file and key."""

from homeport.params.files import data_folder, notebooks_folder, root
from homeport.params.inventory import Host, Inventory
from homeport.params.load import load_inventory, load_study, study_names
from homeport.params.study import (
    Caps,
    Link,
    Price,
    Sla,
    Strategy,
    Study,
    Workload,
)

__all__ = [
    "Caps",
    "Host",
    "Inventory",
    "Link",
    "Price",
    "Sla",
    "Strategy",
    "Study",
    "Workload",
    "data_folder",
    "load_inventory",
    "load_study",
    "notebooks_folder",
    "root",
    "study_names",
]
