"""Removes what dead harnesses left behind, using their journals. Idempotent; live runs are not touched."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from chaoskit.base.errors import BadInput, ChaoskitError, Problems
from chaoskit.base.journal import abandoned
from chaoskit.contract.installed import provider
from chaoskit.run.warden import dismiss
from chaoskit.scenario.remote import named_in

PROCESS = "process"
"""Provider of entries that identify a worker process by a word in its command line."""

WORKER_MODULE = "chaoskit.run.worker"

_STARTED_S = 60


def heal(only: Path | None = None) -> list[str]:
    """Undo every abandoned journal; return what was removed.

    Args:
        only: the path of the only journal that is meant; None: all.

    Raises:
        BadInput: something could not be removed, for example because that needs root; the rest was.
    """
    removed: list[str] = []
    problems = Problems()
    for journal in abandoned(only):
        undone, left = _undo_all(journal.entries)
        removed += undone
        for error in left:
            problems.add(
                BadInput(f"{error} (recorded in {journal.path}; delete that file if nothing listed in it exists)")
            )
        if not left:
            journal.close()
            dismiss(journal.path)
    if problems:
        raise BadInput("\n".join([*(f"removed {item}" for item in removed), str(problems.error())]))
    return removed


def _undo_all(entries: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[ChaoskitError]]:
    """Undo as many entries as possible; return what was removed, and why the rest could not be."""
    removed: list[str] = []
    held_up, left = [], []
    for entry in entries:
        try:
            removed += _undo(entry)
        except ChaoskitError:
            # Another entry may be in the way: a disk that it froze, or brokers that it stopped.
            held_up.append(entry)
    for entry in held_up:
        try:
            removed += _undo_in_time(entry)
        except ChaoskitError as error:
            left.append(error)
    return removed, left


def heal_hosts(inventory: Path) -> list[str]:
    """Undo what any run left on the hosts of an inventory, from whatever machine; return what was undone.

    Raises:
        BadInput: the inventory is wrong, or a host cannot be reached.
    """
    hosts, options = named_in(inventory)
    return hosts.undo({"inventory": options.model_dump(mode="json")})


def _undo(entry: Mapping[str, Any]) -> list[str]:
    if entry["provider"] == PROCESS:
        return _end_process(entry["mark"])
    return provider(entry["provider"], "journal").undo(entry)


def _undo_in_time(entry: Mapping[str, Any]) -> list[str]:
    """Undo an entry as soon as that is possible: what was just started again needs a while."""
    deadline = time.monotonic() + _STARTED_S
    while True:
        try:
            return _undo(entry)
        except ChaoskitError as error:
            if isinstance(error, BadInput) or time.monotonic() > deadline:
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


if __name__ == "__main__":  # started by a warden, in the folder of the journals
    heal(Path(sys.argv[1]).resolve())
