"""Crash points: rebuilds a disk as a power cut right after a given operation would have left it.

Requires a recording (`cluster: {disk: {record: true}}`): the disk's initial state and its operation log. The same
operation, mode and seed give a bit-identical image. A host boots from it with `cluster: {disk: {images: ...}}`.
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
    """Return the number of recorded operations."""
    with opened(log) as recording:
        return sum(1 for _ in recording)


def operation_times(log: Path) -> list[int]:
    """Return the time of each operation, CLOCK_MONOTONIC ns."""
    with opened(log) as recording:
        return [operation.time_ns for operation in recording]


def operation_at(log: Path, time_ns: int) -> int:
    """Return the number of the last operation at or before a CLOCK_MONOTONIC time in ns; 0 if all are later."""
    with opened(log) as recording:
        return sum(1 for operation in recording if operation.time_ns <= time_ns)


def make_crash_image(base: Path, log: Path, image: Path, *, after: int, on_cut: OnCut, seed: int) -> CutRecord:
    """Write the image of a disk whose power is cut right after an operation; return what the cut kept.

    Args:
        base: the disk before the first operation.
        log: its operations.
        image: path of the image; an existing file is overwritten.
        after: number of the operation; 0 is before the first.
        on_cut: what happens to unflushed writes.
        seed: seed for the writes that are kept.

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
    """Copy an image; share blocks if the file system supports it, and keep holes otherwise."""
    subprocess.run(["cp", "--reflink=auto", "--sparse=auto", str(source), str(target)], check=True)


def _apply(descriptor: int, recording: Recording, writes: Sequence[Operation]) -> None:
    for write in writes:
        os.pwrite(descriptor, recording.content(write, 0, write.length), write.offset)
