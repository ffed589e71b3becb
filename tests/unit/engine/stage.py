"""A conductor with a cluster on paper."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from paper import PaperCluster
from samples import plan

from chaoskit.base import yaml
from chaoskit.base.store import TIMELINE
from chaoskit.base.waiting import wait_until
from chaoskit.contract.event import Event, FaultFailed, FaultProved
from chaoskit.history.compacting.faults import compact_faults
from chaoskit.run.faults.conductor import Conductor
from chaoskit.scenario.timeline import PlannedFault

MS = 1_000_000


class Stage:
    """A conductor with all that it needs, and what it left behind.

    Each fault waits until the one before it has taken effect, or failed, however long that takes on a busy machine.
    """

    def __init__(
        self,
        folder: Path,
        cluster: PaperCluster,
        faults: list[dict[str, Any]],
        clients: Any = (),
        database: PaperCluster | None = None,
        *,
        partitions: int = 3,
    ) -> None:
        (folder / "wal").mkdir()
        self.folder = folder
        self.cluster = cluster
        self.events: list[Event] = []
        self.origin_ns = time.monotonic_ns() - 1000 * MS
        self.plan = plan(faults, workload={"kind": "log", "duration": "20s", "partitions": partitions})
        # On paper there is only what the nemeses of these tests ask for.
        service: Any = cluster
        beside: list[Any] = [database] if database is not None else []
        hosts: list[Any] = [host for part in (cluster, *beside) for host in part.hosts]
        self.conductor = Conductor(
            self.plan, service, hosts, clients, folder, origin_ns=self.origin_ns, watcher=self, beside=beside
        )
        self._perform = self.conductor._run
        self.conductor._run = self._in_turn  # type: ignore[method-assign]

    def on(self, event: Event) -> None:
        """Watch."""
        self.events.append(event)

    def perform(self) -> list[dict[str, Any]]:
        """Run the whole timeline; return the recorded faults."""
        self.start()
        return self.end()

    def start(self) -> None:
        self.conductor.start(time.monotonic_ns())

    def begin(self) -> None:
        """Start the timeline; return when its first fault has begun."""
        self.start()
        self.wait(lambda: self.has_begun(0))

    def wait(self, until: Callable[[], bool]) -> None:
        assert wait_until(until, 30, every_s=0.01), [str(event) for event in self.events]

    def has_begun(self, index: int) -> bool:
        """Return whether a fault has taken effect, or failed."""
        return any(isinstance(event, FaultProved | FaultFailed) and event.fault == index for event in self.events)

    def end(self) -> list[dict[str, Any]]:
        self.conductor.join()
        compact_faults(self.folder)
        rows: list[dict[str, Any]] = pq.read_table(self.folder / "faults.parquet").to_pylist()
        return rows

    def timeline(self) -> dict[str, Any]:
        content: dict[str, Any] = yaml.load((self.folder / TIMELINE).read_text())
        return content

    def _in_turn(self, number: int, planned: PlannedFault) -> None:
        self.wait(lambda: not number or self.has_begun(number - 1))
        self._perform(number, planned)
