"""The hosts: an Ansible YAML inventory with the groups `candidates` and `sites`."""

import re
from typing import Annotated, Literal

from pydantic import Field

from homeport.errors import BadParameter, NotFound
from homeport.params.model import Model, build

# RFC 1123 section 2.1: letters, digits and inner hyphens; \Z so that no newline slips through.
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z")
_GROUPS = ("candidates", "sites")


class Host(Model):
    """One machine that takes part.

    `name` is its inventory name (an RFC 1123 label), `group` says whether it could carry the
    learner or holds environments, `region` is what the user calls the place.
    """

    name: str
    group: Literal["candidates", "sites"]
    region: Annotated[str, Field(min_length=1)]


class Inventory(Model):
    """All hosts, by name."""

    hosts: dict[str, Host]

    def host(self, name: str) -> Host:
        """The host called `name`; NotFound says which names there are."""
        if name not in self.hosts:
            raise NotFound("host", name, sorted(self.hosts))
        return self.hosts[name]


def check_name(name: object, file: str, key: str) -> str:
    """Refuse anything that is not a plain host label: it ends up in argument lists and paths."""
    if not isinstance(name, str) or not _NAME.match(name):
        expected = "a host name (RFC 1123: a-z, 0-9, inner hyphens, at most 63)"
        raise BadParameter(file, key, name, expected)
    return name


def from_ansible(content: dict, file: str) -> Inventory:
    """Read an Ansible YAML inventory; variables that are Ansible's own are left to it."""
    top = content.get("all", content)
    groups = top.get("children", top) if isinstance(top, dict) else {}
    hosts: dict[str, Host] = {}
    for group in _GROUPS:
        members = _members(groups, group, file)
        for name, variables in members.items():
            key = f"{group}.hosts.{name}"
            check_name(name, file, key)
            if name in hosts:
                raise BadParameter(file, key, name, "a host in one group only")
            if not isinstance(variables or {}, dict):
                raise BadParameter(file, key, variables, "a mapping with the host's region")
            ours = {str(k): v for k, v in (variables or {}).items()}
            ours = {k: v for k, v in ours.items() if not k.startswith("ansible_")}
            if "region" not in ours:
                raise BadParameter(file, f"{key}.region", None, "the region of the host")
            hosts[name] = build(Host, {"name": name, "group": group, **ours}, file, key)
    return Inventory(hosts=hosts)


def _members(groups: object, group: str, file: str) -> dict:
    found = groups.get(group) if isinstance(groups, dict) else None
    members = found.get("hosts") if isinstance(found, dict) else None
    if not isinstance(members, dict) or not members:
        raise BadParameter(file, f"{group}.hosts", members, f"at least one host in group {group!r}")
    return members
