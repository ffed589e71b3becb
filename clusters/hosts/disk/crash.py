"""Crash points: the disk as it would be if the power had been cut right after a given operation.

Made from what `cluster: {disk: {record: true}}` leaves behind: the disk's first state and its operation log. The same
operation, mode and seed give the same image, bit by bit. A host boots with it through `cluster: {disk: {images: ...}}`.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from chaoskit.base.errors import BadInput
from chaoskit.contract.disk import OnCut
from clusters.hosts.disk.oplog import Kind, Operation, Recording, opened
from clusters.hosts.disk.survivors import CutRecord, cut_random, draw_survivors, summarise


def count_operations(log: Path) -> int:
    """Return how many operations were recorded."""
    with opened(log) as recording:
        return sum(1 for _ in recording)


def operation_times(log: Path) -> list[int]:
    """Return when each operation was, CLOCK_MONOTONIC ns."""
    with opened(log) as recording:
        return [operation.time_ns for operation in recording]


def operation_at(log: Path, time_ns: int) -> int:
    """Return the number of the last operation at or before a CLOCK_MONOTONIC time in ns; 0 if all are later."""
    with opened(log) as recording:
        return sum(1 for operation in recording if operation.time_ns <= time_ns)


def make_crash_image(base: Path, log: Path, image: Path, *, after: int, on_cut: OnCut, seed: int) -> CutRecord:
    """Write the image of a disk whose power is cut right after an operation; tell what the cut kept.

    Args:
        base: the disk before the first operation.
        log: its operations.
        image: written anew.
        after: number of the operation; 0 is before the first.
        on_cut: what becomes of un-flushed writes.
        seed: of the draw.

    Raises:
        BadInput: the log has no such operation.
    """
    copy_sparse(base, image)
    unflushed: list[Operation] = []
    number = cuts = 0
    descriptor = os.open(image, os.O_RDWR)
    try:
        with opened(log) as recording:
            for operation in recording:
                if operation.number > after:
                    break
                number = operation.number
                if operation.kind is Kind.WRITE:
                    unflushed.append(operation)
                    continue
                if operation.kind is Kind.FLUSH:
                    _apply(descriptor, recording, unflushed)
                else:
                    cuts += 1
                unflushed = []
            if number < after:
                raise BadInput(f"{log} has {number} operations; there is no operation {after}")
            lengths = [operation.length for operation in unflushed]
            kept = draw_survivors(lengths, on_cut, cut_random(seed, cuts + 1))
            for write, start, end in kept:
                content = recording.content(unflushed[write], start, end)
                os.pwrite(descriptor, content, unflushed[write].offset + start)
    finally:
        os.close(descriptor)
    return summarise(lengths, kept, cut=cuts + 1, lies=0, mode=on_cut.mode, seed=seed)


def copy_sparse(source: Path, target: Path) -> None:
    """Copy an image, sharing blocks where the file system can and leaving holes where it cannot."""
    subprocess.run(["cp", "--reflink=auto", "--sparse=auto", str(source), str(target)], check=True)


def _apply(descriptor: int, recording: Recording, writes: Sequence[Operation]) -> None:
    for write in writes:
        os.pwrite(descriptor, recording.content(write, 0, write.length), write.offset)
