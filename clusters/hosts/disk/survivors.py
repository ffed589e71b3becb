"""Which un-flushed writes survive a power cut: drawn by seed, the same for a live disk and for a crash image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

from chaoskit.contract.disk import SECTOR, CutMode, OnCut

Extent = tuple[int, int, int]
"""Number of the write, first byte within it, end within it."""


@dataclass(frozen=True, slots=True)
class CutRecord:
    """What a power cut found in the cache and kept of it.

    Attributes:
        cut: 1 for the first since the disk was made.
        writes: un-flushed writes at the cut.
        sectors: sectors of these writes.
        kept: sectors that reached the medium.
        torn: writes of which a part was kept.
        lies: flushes that had been acknowledged since something was persisted last, and were lies.
    """

    cut: int
    writes: int
    sectors: int
    kept: int
    torn: int
    lies: int
    mode: CutMode
    seed: int

    @property
    def dropped(self) -> int:
        """Sectors that were lost."""
        return self.sectors - self.kept

    def as_json(self) -> dict[str, Any]:
        """Return its fields as JSON values."""
        return asdict(self)


def seeded(seed: str) -> Random:
    """Return a generator for one purpose; equal seeds draw equally on every machine."""
    return Random(seed)  # noqa: S311


def cut_random(seed: int, cut: int) -> Random:
    """Return the generator of a disk's power cut; 1 for its first."""
    return seeded(f"{seed}:cut:{cut}")


def draw_survivors(lengths: Sequence[int], on_cut: OnCut, random: Random) -> list[Extent]:
    """Return what is kept of un-flushed writes of these lengths in bytes, in the order it was written."""
    match on_cut.mode:
        case CutMode.DROP:
            return []
        case CutMode.PREFIX:
            return _whole(lengths, range(random.randint(0, len(lengths))))
        case CutMode.TORN:
            return _torn(lengths, random)
        case CutMode.REORDER:
            return _whole(lengths, [write for write in range(len(lengths)) if random.random() < on_cut.keep])
        case CutMode.SECTORS:
            return [
                (write, start, min(start + SECTOR, length))
                for write, length in enumerate(lengths)
                for start in range(0, length, SECTOR)
                if random.random() < on_cut.keep
            ]


def summarise(lengths: Sequence[int], kept: Sequence[Extent], **fields: Any) -> CutRecord:
    """Return the record of a cut; `fields` are those that the writes do not tell."""
    bytes_kept: dict[int, int] = {}
    for write, start, end in kept:
        bytes_kept[write] = bytes_kept.get(write, 0) + end - start
    return CutRecord(
        writes=len(lengths),
        sectors=sum(map(_sectors, lengths)),
        kept=sum(map(_sectors, bytes_kept.values())),
        torn=sum(1 for write, size in bytes_kept.items() if size < lengths[write]),
        **fields,
    )


def _whole(lengths: Sequence[int], writes: Sequence[int]) -> list[Extent]:
    return [(write, 0, lengths[write]) for write in writes]


def _torn(lengths: Sequence[int], random: Random) -> list[Extent]:
    """Keep writes in order up to a drawn one, and of that one a drawn number of its first sectors."""
    if not lengths:
        return []
    last = random.randrange(len(lengths))
    end = random.randrange(_sectors(lengths[last]) + 1) * SECTOR
    head = [(last, 0, min(end, lengths[last]))] if end else []
    return [*_whole(lengths, range(last)), *head]


def _sectors(length: int) -> int:
    return -(-length // SECTOR)
