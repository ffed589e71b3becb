"""Removes what dead harnesses left behind, using their journals. Idempotent; live runs are not touched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psutil

from chaoskit.base import plugins
from chaoskit.base.journal import abandoned
from chaoskit.contract.host import HostError, HostProvider

PROCESS = "process"
"""Provider of entries that identify a worker process by a word in its command line."""

WORKER_MODULE = "chaoskit.run.worker"


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
            except HostError:  # for example a `sync` on its hosts that waits for a frozen disk of another entry
                held_up.append(entry)
        for entry in held_up:
            removed += _undo(entry)
        journal.close()
    return removed


def _undo(entry: Mapping[str, Any]) -> list[str]:
    if entry["provider"] == PROCESS:
        return _end_process(entry["mark"])
    provider: HostProvider = plugins.load("host", entry["provider"], "journal")
    return provider.undo(entry)


def _end_process(mark: str) -> list[str]:
    ended = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if mark in words and WORKER_MODULE in words:
            process.kill()
            ended.append(f"process {process.pid}")
    return ended
