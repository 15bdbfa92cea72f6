"""Read a study and the files it names into one frozen model."""

from pathlib import Path

from homeport.errors import BadParameter, NotFound
from homeport.params.files import read_yaml, root
from homeport.params.inventory import Inventory, from_ansible
from homeport.params.model import build
from homeport.params.study import Link, Price, Study, Workload

# Keys of a study file that name another file or an entry in one; load_study puts the content
# in their place.
_FILES = {"inventory": "hosts.yml", "links": "links.yml", "prices": "prices.yml"}


def study_names() -> list[str]:
    """The studies in params/studies, by name."""
    return sorted(p.stem for p in (root() / "params" / "studies").glob("*.yml"))


def load_inventory(path: Path) -> Inventory:
    """Read an Ansible YAML inventory."""
    return from_ansible(read_yaml(path), str(path))


def load_study(study: str | Path) -> Study:
    """Read a study by name (a file in params/studies) or by path.

    Raises NotFound for an unknown study and BadParameter, naming file and key, for anything in
    it or in the files it names that is not allowed.
    """
    path = _path_of(study)
    content = read_yaml(path)
    folder = path.parent.parent
    content["name"] = path.stem
    content["inventory"] = load_inventory(_named(content, "inventory", folder, path))
    content["links"] = _links(content, folder, path)
    content["prices"] = _prices(content, folder, path)
    content["workload"] = _workload(content, folder, path)
    return build(Study, content, str(path))


def _path_of(study: str | Path) -> Path:
    if str(study).endswith((".yml", ".yaml")):
        return Path(study).resolve()  # its neighbours are told from it, wherever we stand
    path = root() / "params" / "studies" / f"{study}.yml"
    if study not in study_names():
        raise NotFound("study", str(study), study_names())
    return path


def _named(content: dict, key: str, folder: Path, path: Path) -> Path:
    name = content.pop(key, _FILES[key])
    if not isinstance(name, str):
        raise BadParameter(str(path), key, name, "the name of a file beside params/studies")
    return folder / name


def _links(content: dict, folder: Path, path: Path) -> list[Link]:
    file = _named(content, "links", folder, path)
    rows = read_yaml(file).get("links")
    if not isinstance(rows, list):
        raise BadParameter(str(file), "links", rows, "a list of links")
    links = [build(Link, row, str(file), f"links.{i}") for i, row in enumerate(rows)]
    sites, hosts = _names(content, "sites"), _names(content, "candidates")
    return [link for link in links if link.site in sites and link.host in hosts]


def _names(content: dict, key: str) -> set[str]:
    """The names under a key of the study; what is no such list, the model refuses in its turn."""
    found = content.get(key)
    found = found if isinstance(found, list | dict) else ()
    return {name for name in found if isinstance(name, str)}


def _prices(content: dict, folder: Path, path: Path) -> dict[str, Price]:
    file = _named(content, "prices", folder, path)
    rows = read_yaml(file).get("hosts")
    if not isinstance(rows, dict):
        raise BadParameter(str(file), "hosts", rows, "a mapping of host to price")
    wanted = _names(content, "candidates")
    return {
        host: build(Price, row, str(file), f"hosts.{host}")
        for host, row in rows.items()
        if host in wanted
    }


def _workload(content: dict, folder: Path, path: Path) -> Workload:
    file = folder / "workloads.yml"
    name, known = content.get("workload"), read_yaml(file)
    if not isinstance(name, str) or name not in known:
        raise BadParameter(str(path), "workload", name, f"one of {sorted(known)} in {file.name}")
    return build(Workload, known[name], str(file), name)
