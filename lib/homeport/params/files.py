"""Where the project's folders are, and how one YAML file is read without surprises."""

import os
from collections.abc import Hashable
from pathlib import Path

import yaml

from homeport.errors import BadParameter, NotFound


def root() -> Path:
    """The project folder: the nearest one upwards that holds params/studies.

    HOMEPORT_ROOT wins over the search; the search starts in the working folder (so a page works
    from the root and from notebooks/) and then tries the folder this package lies in.
    """
    named = os.environ.get("HOMEPORT_ROOT")
    starts = [Path(named)] if named else [Path.cwd(), Path(__file__).resolve().parent]
    for start in starts:
        for folder in (start, *start.parents):
            if (folder / "params" / "studies").is_dir():
                return folder
    raise NotFound("project folder (one that holds params/studies)", str(starts[0]), [])


def notebooks_folder() -> Path:
    """The folder of the committed pages."""
    return root() / "notebooks"


def data_folder() -> Path:
    """Where runs are written: HOMEPORT_DATA, or data/runs in the project folder."""
    named = os.environ.get("HOMEPORT_DATA")
    return Path(named) if named else root() / "data" / "runs"


class _Loader(yaml.SafeLoader):
    """YAML's safe loader, but a key that stands twice is an error, not a silent loss."""


def _mapping_without_repeats(loader: _Loader, node: yaml.MappingNode) -> dict:
    seen = set()
    for key_node, _ in node.value:
        if key_node.tag == "tag:yaml.org,2002:merge":
            continue  # `<<`: the mapping merged in may be overruled, that is its use
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, Hashable):
            raise yaml.constructor.ConstructorError(
                None, None, f"{key!r} cannot be a key", key_node.start_mark
            )
        if key in seen:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {key!r} stands twice", key_node.start_mark
            )
        seen.add(key)
    loader.flatten_mapping(node)
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping_without_repeats)


def read_yaml(path: Path) -> dict:
    """Read one YAML file whose top level is a mapping; BadParameter names what is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as missing:
        known = sorted(p.name for p in path.parent.glob("*.yml")) if path.parent.is_dir() else []
        raise NotFound("parameter file", str(path), known) from missing
    except OSError as refused:
        raise BadParameter(str(path), "file", refused.strerror, "a readable file") from refused
    except UnicodeDecodeError as wrong:
        raise BadParameter(str(path), "encoding", str(wrong), "UTF-8 text") from wrong
    try:
        content = yaml.load(text, Loader=_Loader)  # a SafeLoader underneath
    except yaml.MarkedYAMLError as wrong:
        line = wrong.problem_mark.line + 1 if wrong.problem_mark else "?"
        raise BadParameter(str(path), f"line {line}", wrong.problem, "valid YAML") from wrong
    except (yaml.YAMLError, ValueError) as wrong:  # such as the 13th month of a date
        raise BadParameter(str(path), "YAML", str(wrong), "valid YAML") from wrong
    if not isinstance(content, dict):
        raise BadParameter(str(path), "top level", type(content).__name__, "a mapping of keys")
    return content
