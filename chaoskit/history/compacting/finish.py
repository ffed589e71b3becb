"""Finishes the history of a run: from its write-ahead logs to Parquet files with a manifest."""

from __future__ import annotations

from pathlib import Path

from chaoskit.history.compacting.compact import compact, write_empty
from chaoskit.history.compacting.faults import compact_faults
from chaoskit.history.compacting.manifest import RECORDED, seal
from chaoskit.history.compacting.placements import compact_placements
from chaoskit.history.digesting.live import digested, take


def finish(folder: Path) -> None:
    """Compact the write-ahead logs of a run folder, which stay, or digest them; seal what the run recorded.

    Raises:
        HistoryFull: there is no space for it.
    """
    compact_faults(folder)
    compact_placements(folder)
    if digested(folder):
        take(folder, all_segments=True)
        write_empty(folder)
    else:
        compact(folder)
    seal(folder, RECORDED)
