"""The base of every parameter model, and how its errors are told to the user."""

import difflib
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from homeport.errors import BadParameter


class Model(BaseModel):
    """Strict and frozen: a wrong type is an error, an unknown key is an error."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


M = TypeVar("M", bound=Model)


def build(kind: type[M], content: dict, file: str, where: str = "") -> M:
    """Make a model from a mapping; the first thing wrong becomes one BadParameter."""
    try:
        return kind.model_validate(content)
    except ValidationError as wrong:
        # A misspelt key makes two errors: the key nobody knows, and the one now missing. The
        # first tells more.
        found = sorted(wrong.errors(include_url=False), key=lambda e: e["type"] != _UNKNOWN)
        first = found[0]
        at = ".".join(str(part) for part in first["loc"])
        key = ".".join(part for part in (where, at) if part) or "top level"
        expected = _EXPECTED.get(first["type"], first["msg"].removeprefix("Value error, "))
        seen = first.get("input")
        if first["type"] == "missing" or (isinstance(seen, dict) and not first["loc"]):
            seen = None if first["type"] == "missing" else _Keys(seen)
        raise BadParameter(file, key, seen, expected, _hint(kind, first)) from None


_UNKNOWN = "extra_forbidden"
_EXPECTED = {"missing": "a value for this key", _UNKNOWN: "a key that is known here"}


class _Keys:
    """Shows a whole mapping by its keys: its values would fill the screen."""

    def __init__(self, content: dict):
        self._keys = sorted(map(str, content))

    def __repr__(self) -> str:
        return f"a mapping with {', '.join(self._keys)}"


def _hint(kind: type[Model], first: dict) -> str:
    if first["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(first["loc"][-1]), list(kind.model_fields), n=1)
        return f"Did you mean {near[0]!r}?" if near else f"Allowed: {sorted(kind.model_fields)}."
    if first["type"] == "float_type" and isinstance(first.get("input"), str):
        return "YAML 1.1 reads 1e3 as text; write 1.0e+3."
    if first["type"] == "string_type" and isinstance(first.get("input"), bool):
        return "YAML 1.1 reads no, yes, on and off as booleans; quote the word."
    return ""
