"""Crash points: rebuilds a disk as a power cut right after a given operation would have left it.

Requires a recording (`cluster: {disk: {record: true}}`): the disk's initial state and its operation log. The same
operation, mode and seed give a bit-identical image. A host boots from it with `cluster: {disk: {images: ...}}`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

import numpy as np

from chaoskit.base.errors import BadInput
from chaoskit.contract.hosts.disk import OnCut
from chaoskit.contract.hosts.recorded_disk import DiskOperations
from clusters.hosts.disk.oplog import Kind, Operation, Recording, opened
from clusters.hosts.disk.survivors import CutRecord, Extent, cut_random, draw_survivors, summarise

_FOLDER = b"\x0c\0\x01\x02.\0\0\0"
"""The entry `.` of an ext4 folder, with which its first block begins, after the number of its inode."""


def count_operations(log: Path) -> int:
    """Return the number of recorded operations."""
    with opened(log) as recording:
        return sum(1 for _ in recording)


def operation_at(log: Path, time_ns: int) -> int:
    """Return the number of the last operation at or before a CLOCK_MONOTONIC time in ns; 0 if all are later."""
    with opened(log) as recording:
        return sum(1 for operation in recording if operation.time_ns <= time_ns)


def read_operations(log: Path, end_ns: int) -> DiskOperations:
    """Return the operations until a time; see `chaoskit.contract.hosts.recorded_disk.RecordedDisks.operations`."""
    times_ns, folders, changed = array("q"), array("q"), False
    with opened(log) as recording:
        for operation in takewhile(lambda operation: operation.time_ns <= end_ns, recording):
            times_ns.append(operation.time_ns)
            if operation.kind is Kind.WRITE:
                changed = changed or _FOLDER in recording.content(operation)
            elif changed:
                folders.append(operation.number)
                changed = False
    return DiskOperations(np.array(times_ns, np.int64), np.array(folders, np.int64))


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
    descriptor = os.open(image, os.O_RDWR)
    try:
        with opened(log) as recording:
            cut = _cut(recording, log, after, lambda flushed: _apply(descriptor, recording, flushed))
            kept = cut.draw(on_cut, seed)
            for write, start, end in kept:
                content = recording.content(cut.unflushed[write], start, end)
                os.pwrite(descriptor, content, cut.unflushed[write].offset + start)
    finally:
        os.close(descriptor)
    return summarise(cut.lengths, kept, cut=cut.number, lies=0, mode=on_cut.mode, seed=seed)


def crash_state(log: Path, *, after: int, on_cut: OnCut, seed: int) -> str:
    """Return what identifies the image that `make_crash_image` would write: the last flush of anything, and a digest
    of what the cut kept of later writes.

    Raises:
        BadInput: the log has no such operation.
    """
    digest = hashlib.blake2b(digest_size=16)
    with opened(log) as recording:
        cut = _cut(recording, log, after, lambda _: None)
        for write, start, end in cut.draw(on_cut, seed):
            digest.update(f"{cut.unflushed[write].offset + start}:{end - start}:".encode())
            digest.update(recording.content(cut.unflushed[write], start, end))
    return f"{cut.flushed}:{digest.hexdigest()}"


@dataclass(slots=True)
class _Cut:
    """A power cut right after an operation.

    Attributes:
        number: of the cut since the disk was made, from 1.
        flushed: number of the last operation that changed what is persistent.
        unflushed: the writes that the cut may lose.
    """

    number: int = 1
    flushed: int = 0
    unflushed: list[Operation] = field(default_factory=list)

    @property
    def lengths(self) -> list[int]:
        return [operation.length for operation in self.unflushed]

    def draw(self, on_cut: OnCut, seed: int) -> list[Extent]:
        return draw_survivors(self.lengths, on_cut, cut_random(seed, self.number))


def _cut(recording: Recording, log: Path, after: int, flush: Callable[[Sequence[Operation]], None]) -> _Cut:
    """Follow a log up to an operation; `flush` gets the writes of each flush."""
    cut, number = _Cut(), 0
    for operation in recording:
        if operation.number > after:
            break
        number = operation.number
        if operation.kind is Kind.WRITE:
            cut.unflushed.append(operation)
            continue
        if operation.kind is Kind.CUT:
            cut.number += 1
            cut.unflushed = []
            continue
        persisted = operation.offset if operation.kind is Kind.DESTAGE else len(cut.unflushed)
        if persisted:
            flush(cut.unflushed[:persisted])
            cut.flushed = number
        cut.unflushed = cut.unflushed[persisted:]
    if number < after:
        raise BadInput(f"{log} has {number} operations; there is no operation {after}")
    return cut


def copy_sparse(source: Path, target: Path) -> None:
    """Copy an image; share blocks if the file system supports it, and keep holes otherwise."""
    subprocess.run(["cp", "--reflink=auto", "--sparse=auto", str(source), str(target)], check=True)


def _apply(descriptor: int, recording: Recording, writes: Sequence[Operation]) -> None:
    for write in writes:
        os.pwrite(descriptor, recording.content(write, 0, write.length), write.offset)
