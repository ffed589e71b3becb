"""The settings of a BookKeeper release: of its servers, and of its client in the ledger workload."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from clusters.bookkeeper.options import BookKeeperOptions
from clusters.common.names import Known, raise_any, remembered, unknown
from clusters.storage import known as storage


def check_names(options: BookKeeperOptions, jars: Path) -> None:
    """Reject settings that the release does not have.

    Args:
        options: as in the scenario.
        jars: folder of the release's jars.

    Raises:
        BadInput: names each setting, with the nearest one that exists.
    """
    if options.config.bookie or options.config.zookeeper:
        names = remembered(jars, storage.gather)
        raise_any(storage.errors(options, names, f"BookKeeper {options.version}"))


def check_topology(options: BookKeeperOptions, hosts: int) -> None:
    """Reject settings that chaoskit overrides on a host.

    Raises:
        BadInput: names each setting.
    """
    raise_any(storage.overrides(options, hosts))


def check_clients(options: BookKeeperOptions, given: Mapping[str, Mapping[str, Any]], jars: Callable[[], Path]) -> None:
    """Reject settings that BookKeeper's client does not have; it would believe them.

    Args:
        options: as in the scenario.
        given: the settings by role, such as `producer`.
        jars: returns the folder of the release's jars; only called if there are settings.

    Raises:
        BadInput: names each setting, with the nearest one that exists.
    """
    if not any(given.values()):
        return
    names = remembered(jars(), storage.gather)
    client = Known(f"the client of BookKeeper {options.version}", names[storage.CLIENT], storage.FAMILIES_BOOKIE)
    unchecked = options.config_unchecked
    raise_any(
        [
            error
            for role, settings in given.items()
            for error in unknown(f"workload.{role}", settings, client, unchecked)
        ]
    )
