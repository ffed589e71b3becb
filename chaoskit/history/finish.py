"""Finishes the history of a run: from its write-ahead logs to Parquet files with a manifest."""

from __future__ import annotations

from pathlib import Path

from chaoskit.history.compact import compact
from chaoskit.history.faults import compact_faults
from chaoskit.history.manifest import RECORDED, seal
from chaoskit.history.placements import compact_placements


def finish(folder: Path) -> None:
    """Compact the write-ahead logs of a run folder, which stay, and seal what it recorded.

    Raises:
        HistoryFull: there is no space for it.
    """
    compact_faults(folder)
    compact_placements(folder)
    compact(folder)
    seal(folder, RECORDED)
