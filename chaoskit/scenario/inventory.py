"""Inventories as they are written: in a file of their own, with keys that all hosts share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chaoskit.base.errors import BadInput
from chaoskit.scenario.reading import load_mapping

_DEFAULTS, _HOSTS, _DRIVERS = "defaults", "hosts", "drivers"
_REACHING = ("user", "port", "key", "jump", "known_hosts")
"""The keys that drivers share with hosts."""


def read_inventory(path: Path) -> dict[str, Any]:
    """Read an inventory from its file.

    Raises:
        BadInput: names the file.
    """
    content = load_mapping(path, "an inventory is a mapping with the key hosts; see docs/attach.md")
    try:
        return dict(with_defaults(content))
    except ValueError as error:
        raise BadInput(f"{path}: {error}") from error


def with_defaults(inventory: Any) -> Any:
    """Give each host the keys of `defaults` that it does not have itself, and each driver those of the connection.

    Raises:
        ValueError: `defaults` is not a mapping.
    """
    if not isinstance(inventory, Mapping):
        return inventory
    defaults = inventory.get(_DEFAULTS) or {}
    if not isinstance(defaults, Mapping):
        raise ValueError("defaults: write a mapping of the keys that hosts share")
    shared = {_HOSTS: defaults, _DRIVERS: {key: defaults[key] for key in _REACHING if key in defaults}}
    return {
        key: _completed(value, shared.get(key, {})) if isinstance(value, Mapping) else value
        for key, value in inventory.items()
        if key != _DEFAULTS
    }


def _completed(machines: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    return {
        str(name): {**defaults, **(machine or {})} if isinstance(machine, Mapping | None) else machine
        for name, machine in machines.items()
    }
