"""A conductor with a cluster on paper."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from paper import PaperCluster
from samples import plan

from chaoskit.base import yaml
from chaoskit.base.store import TIMELINE
from chaoskit.contract.event import Event
from chaoskit.history.faults import compact_faults
from chaoskit.run.conductor import Conductor

MS = 1_000_000


class Stage:
    """A conductor with all that it needs, and what it left behind."""

    def __init__(self, folder: Path, cluster: PaperCluster, faults: list[dict[str, Any]], clients: Any = ()) -> None:
        (folder / "wal").mkdir()
        self.folder = folder
        self.cluster = cluster
        self.events: list[Event] = []
        self.origin_ns = time.monotonic_ns() - 1000 * MS
        self.plan = plan(faults, workload={"kind": "log", "duration": "20s", "partitions": 3})
        self.conductor = Conductor(self.plan, cluster, clients, folder, origin_ns=self.origin_ns, watcher=self)  # type: ignore[arg-type]

    def on(self, event: Event) -> None:
        """Watch."""
        self.events.append(event)

    def perform(self) -> list[dict[str, Any]]:
        """Run the whole timeline; return the recorded faults."""
        self.begin()
        return self.end()

    def begin(self) -> None:
        """Start the timeline and give its first fault time to begin."""
        self.conductor.start(time.monotonic_ns())
        time.sleep(0.1)

    def end(self) -> list[dict[str, Any]]:
        self.conductor.join()
        compact_faults(self.folder)
        rows: list[dict[str, Any]] = pq.read_table(self.folder / "faults.parquet").to_pylist()
        return rows

    def timeline(self) -> dict[str, Any]:
        content: dict[str, Any] = yaml.load((self.folder / TIMELINE).read_text())
        return content
