"""Removes what dead harnesses left behind, using their journals. Idempotent; live runs are not touched."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import psutil

from chaoskit.base import plugins
from chaoskit.base.errors import ChaoskitError
from chaoskit.base.journal import abandoned
from chaoskit.contract.host import HostProvider
from chaoskit.scenario.mistakes import validated
from chaoskit.scenario.model import REMOTE

PROCESS = "process"
"""Provider of entries that identify a worker process by a word in its command line."""

WORKER_MODULE = "chaoskit.run.worker"

_STARTED_S = 60


def heal() -> list[str]:
    """Undo every abandoned journal; return what was removed.

    Raises:
        BadInput: hosts were left behind, and this is not root.
    """
    removed = []
    for journal in abandoned():
        held_up = []
        for entry in journal.entries:
            try:
                removed += _undo(entry)
            except (
                ChaoskitError
            ):  # another entry is in the way, such as a disk that it froze, or brokers that it stopped
                held_up.append(entry)
        for entry in held_up:
            removed += _undo_in_time(entry)
        journal.close()
    return removed


def heal_hosts(inventory: Mapping[str, Any], source: str) -> list[str]:
    """Undo what any run left on the hosts of an inventory, from whatever machine; return what was undone.

    Args:
        inventory: the inventory.
        source: its file, for error messages.

    Raises:
        BadInput: the inventory is wrong, or a host cannot be reached.
    """
    provider: HostProvider = plugins.load("host", REMOTE, source)
    return provider.undo({"inventory": validated(provider.options, inventory, source, "").model_dump(mode="json")})


def _undo(entry: Mapping[str, Any]) -> list[str]:
    if entry["provider"] == PROCESS:
        return _end_process(entry["mark"])
    provider: HostProvider = plugins.load("host", entry["provider"], "journal")
    return provider.undo(entry)


def _undo_in_time(entry: Mapping[str, Any]) -> list[str]:
    """Undo an entry as soon as that is possible: what was just started again needs a while."""
    deadline = time.monotonic() + _STARTED_S
    while True:
        try:
            return _undo(entry)
        except ChaoskitError:
            if time.monotonic() > deadline:
                raise
            time.sleep(1)


def _end_process(mark: str) -> list[str]:
    ended = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if mark in words and WORKER_MODULE in words:
            process.kill()
            ended.append(f"process {process.pid}")
    return ended
