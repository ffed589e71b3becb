"""Which unflushed writes survive a power cut: drawn from a seed, in the same way for live disks and crash images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

from chaoskit.contract.hosts.disk import SECTOR, CutMode, OnCut

Extent = tuple[int, int, int]
"""Number of the write, first byte within it, end within it."""


@dataclass(frozen=True, slots=True)
class CutRecord:
    """What was in the cache at a power cut, and what was kept.

    Attributes:
        cut: number of the cut since the disk was created, from 1.
        writes: number of unflushed writes at the cut.
        sectors: number of sectors of these writes.
        kept: number of sectors that reached the medium.
        torn: number of writes that were kept only in part.
        lies: number of flushes that were acknowledged but not done since the last time that data was persisted.
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
        """Number of sectors that were lost."""
        return self.sectors - self.kept

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return asdict(self)


def seeded(seed: str) -> Random:
    """Return a random generator for one purpose; equal seeds give equal sequences on every machine."""
    return Random(seed)  # noqa: S311


def cut_random(seed: int, cut: int) -> Random:
    """Return the random generator of a disk's power cut; `cut` counts from 1."""
    return seeded(f"{seed}:cut:{cut}")


def draw_survivors(lengths: Sequence[int], on_cut: OnCut, random: Random) -> list[Extent]:
    """Return what is kept of unflushed writes with these lengths in bytes, in write order."""
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
        case CutMode.WHOLE:
            return _whole(lengths, range(len(lengths)))


def summarise(lengths: Sequence[int], kept: Sequence[Extent], **fields: Any) -> CutRecord:
    """Return the record of a cut; `fields` are the fields that cannot be computed from the writes."""
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
    """Keep writes in order up to a random one, and a random number of that one's first sectors."""
    if not lengths:
        return []
    last = random.randrange(len(lengths))
    end = random.randrange(_sectors(lengths[last]) + 1) * SECTOR
    head = [(last, 0, min(end, lengths[last]))] if end else []
    return [*_whole(lengths, range(last)), *head]


def _sectors(length: int) -> int:
    return -(-length // SECTOR)
