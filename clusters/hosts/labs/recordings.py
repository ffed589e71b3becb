"""The recordings of a lab's disks: how they are kept, and what can be made of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chaoskit.base.parallel import on_each
from chaoskit.contract.hosts.disk import DATA, CutMode, OnCut
from chaoskit.contract.hosts.recorded_disk import DiskOperations, Stored
from clusters.hosts.disk.crash import copy_sparse, crash_state, make_crash_image, read_operations
from clusters.hosts.disk.ending import end_recording, ended_ns
from clusters.hosts.disk.layout import BASE, DISKS, END, LOG
from clusters.hosts.disk.stored import stored
from clusters.hosts.local import LocalHost


def keep(hosts: Sequence[LocalHost], lab: Path, syncs_ns: Sequence[int], folder: Path) -> list[Path]:
    """End the recordings and copy them to a folder; see `clusters.hosts.lab.LocalLab.keep`."""
    recorded = {host: disk for host in hosts if ((disk := lab / host.name / DISKS / DATA) / BASE).exists()}
    on_each(list(recorded), lambda host: end_recording(host, host.disks[DATA].path, recorded[host], syncs_ns))
    for host, disk in recorded.items():
        target = folder / host.name
        target.mkdir(parents=True, exist_ok=True)
        for name in (BASE, LOG, END):
            copy_sparse(disk / name, target / name)
    return [folder / host.name for host in recorded]


class Recordings:
    """What a provider makes of recordings; see `chaoskit.contract.hosts.recorded_disk.RecordedDisks`."""

    def operations(self, recording: Path) -> DiskOperations:
        return read_operations(recording / LOG, ended_ns(recording))

    def crash_state(self, recording: Path, after: int, on_cut: str, seed: int) -> str:
        return crash_state(recording / LOG, after=after, on_cut=OnCut(mode=CutMode(on_cut)), seed=seed)

    def crash_image(self, recording: Path, image: Path, after: int, on_cut: str, seed: int) -> dict[str, Any]:
        survivors = OnCut(mode=CutMode(on_cut))
        cut = make_crash_image(recording / BASE, recording / LOG, image, after=after, on_cut=survivors, seed=seed)
        return cut.as_json()

    def stored(self, recording: Path, run_id: int, size: int) -> Stored:
        return stored(recording, run_id, size)
