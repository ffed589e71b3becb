"""The hosts of an inventory, without a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chaoskit.contract.hosts.host import HostProvider
from chaoskit.contract.installed import provider
from chaoskit.contract.mistakes import validated
from chaoskit.scenario.inventory import read_inventory
from chaoskit.scenario.model import REMOTE


def named_in(path: Path) -> tuple[HostProvider, Any]:
    """Return the provider of the hosts that an inventory names, and its options.

    Raises:
        BadInput: names the file, the key and the remedy.
    """
    remote_provider = provider(REMOTE, str(path))
    return remote_provider, validated(remote_provider.options, read_inventory(path), str(path), "")
