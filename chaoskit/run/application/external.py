"""An application that its owner runs: chaoskit says what it needs to know, and waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from chaoskit.base import store
from chaoskit.contract.event import ApplicationAwaited, Problem, Watcher
from chaoskit.contract.workloads.application import Application

NAMES = "application.json"
"""The file of the run folder with what the application needs to know."""

_LOOK_S = 0.1


def await_owner(
    application: Application, names: Mapping[str, str], folder: Path, watcher: Watcher, owned: Callable[[], int]
) -> None:
    """Say what the application needs to know, and wait until its groups own all that it is to read.

    Not all programs are members of a group, so the load begins as well when the time is over.

    Args:
        application: what is awaited.
        names: where clients connect, what it reads and where it writes.
        folder: the run folder.
        watcher: receives the events.
        owned: returns how many partitions have an owner.
    """
    path, within_s = folder / NAMES, application.ready_ns / 1e9
    store.write_json(path, dict(names))
    watcher.on(ApplicationAwaited(names, str(path), within_s))
    deadline = time.monotonic() + within_s
    while (owners := owned()) < application.partitions:
        if time.monotonic() > deadline:
            watcher.on(
                Problem(
                    f"{owners} of {application.partitions} partitions have an owner in a group of consumers after "
                    f"{within_s:g} s (workload.application.ready_within); the load begins all the same"
                )
            )
            return
        time.sleep(_LOOK_S)
