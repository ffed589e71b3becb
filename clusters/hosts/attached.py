"""The provider of systems that run already: it makes no hosts, and removes topics that runs left behind."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from chaoskit.base.journal import Journal
from chaoskit.contract.hosts.capability import Capability
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.installed import system
from chaoskit.contract.systems.attach import Attaching


class AttachedOptions(BaseModel):
    """No options: nothing is made."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NoLab:
    """A lab without hosts; see `chaoskit.contract.hosts.host.Lab`."""

    hosts: Sequence[ServiceHost] = ()

    def access(self) -> list[str]:
        return []

    def keep(self, folder: Path) -> Sequence[Path]:
        return ()

    def close(self) -> None:
        """Do nothing."""


class AttachedProvider:
    """Entry point `attached` of `chaoskit.hosts`."""

    options = AttachedOptions

    def host_powers(self, options: AttachedOptions) -> tuple[type, ...]:
        return ()

    def disk_powers(self, options: AttachedOptions) -> Mapping[str, tuple[type, ...]]:
        return {}

    def seeded(self, options: AttachedOptions, seed: int) -> AttachedOptions:
        return options

    def check(self, count: int, options: AttachedOptions, needed: Collection[type]) -> None:
        """Do nothing: this machine provides no host."""

    def provision(self, journal: Journal, count: int, options: AttachedOptions, needed: Collection[type] = ()) -> NoLab:
        return NoLab()

    def undo(self, entry: Mapping[str, Any]) -> list[str]:
        """Delete the topics that a run created in the system.

        Raises:
            ServiceError: the system cannot be reached, or refuses it.
        """
        attaching = system(entry["system"], "journal")
        assert isinstance(attaching, Attaching)
        return [f"topic {name} of {entry['system']}" for name in attaching.remove(entry["settings"], entry["names"])]

    def diagnose(self) -> list[Capability]:
        return []
