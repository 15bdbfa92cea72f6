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
        first = wrong.errors(include_url=False)[0]
        at = ".".join(str(part) for part in first["loc"])
        key = ".".join(part for part in (where, at) if part) or "top level"
        seen = first.get("input")
        hint = _hint(kind, first)
        expected = first["msg"].removeprefix("Value error, ")
        raise BadParameter(file, key, seen, expected, hint) from None


def _hint(kind: type[Model], first: dict) -> str:
    if first["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(first["loc"][-1]), list(kind.model_fields), n=1)
        return f"Did you mean {near[0]!r}?" if near else f"Allowed: {sorted(kind.model_fields)}."
    if first["type"] == "float_type" and isinstance(first.get("input"), str):
        return "YAML 1.1 reads 1e3 as text; write 1.0e+3."
    if first["type"] == "string_type" and isinstance(first.get("input"), bool):
        return "YAML 1.1 reads no, yes, on and off as booleans; quote the word."
    return ""
