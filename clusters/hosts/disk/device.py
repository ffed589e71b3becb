"""A disk in software: a volatile write cache in front of an image, with the known misbehaviours of disks."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import trio

from chaoskit.contract.hosts.disk import SECTOR, DiskSettings
from clusters.hosts.disk.cache import WriteCache, persist
from clusters.hosts.disk.oplog import Kind, OperationLog
from clusters.hosts.disk.shaping import Pace, wait_until
from clusters.hosts.disk.survivors import CutRecord, cut_random, draw_survivors, seeded, summarise


class Device:
    """Handles the requests of one disk.

    Args:
        image: the persistent content.
        settings: how it handles requests; see `program`.
        log: log for recording operations, or None.
        cuts: number of earlier power cuts.
    """

    def __init__(self, image: Path, settings: DiskSettings, log: OperationLog | None, cuts: int) -> None:
        self._image = os.open(image, os.O_RDWR)
        self.size = os.fstat(self._image).st_size
        self._cache = WriteCache(self._image)
        self._log = log
        self._cuts = cuts
        self._dead = False
        self._thawed = trio.Event()
        self._paces = {name: Pace() for name in ("read_bandwidth", "write_bandwidth", "read_iops", "write_iops")}
        self._lies = 0
        self._counts = dict.fromkeys(
            ("reads", "writes", "flushes", "bytes_read", "bytes_written", "errors", "flips", "lies"), 0
        )
        self._random = seeded(f"{settings.seed}:{cuts}")
        self.program(settings)

    def program(self, settings: DiskSettings) -> None:
        """Change the settings from the next request on."""
        self.settings = settings
        limits = settings
        self._limited = {
            "read": limits.read_bandwidth is not None or limits.read_iops is not None,
            "write": limits.write_bandwidth is not None or limits.write_iops is not None,
        }
        if not settings.frozen:
            self._thawed.set()
        elif self._thawed.is_set():
            self._thawed = trio.Event()

    def counters(self) -> dict[str, int]:
        """Return request counts since the host booted, and the size of the cache."""
        unflushed = sum(-(-len(content) // SECTOR) for _, content in self._cache.writes)
        return {**self._counts, "unflushed_writes": len(self._cache.writes), "unflushed_sectors": unflushed}

    def cut(self) -> CutRecord:
        """Cut the power: from now on every request fails; only a random part of unflushed writes is kept."""
        self._dead = True
        self._cuts += 1
        writes, settings = self._cache.writes, self.settings
        lengths = [len(content) for _, content in writes]
        extents = draw_survivors(lengths, settings.on_cut, cut_random(settings.seed, self._cuts))
        kept = [(writes[write][0] + start, writes[write][1][start:end]) for write, start, end in extents]
        persist(self._image, kept)
        if self._log is not None:
            self._log.mark(Kind.CUT)
            for offset, content in kept:
                self._log.write(offset, content)
            self._log.mark(Kind.FLUSH)
        self._cache.discard()
        self._thawed.set()
        return summarise(
            lengths, extents, cut=self._cuts, lies=self._lies, mode=settings.on_cut.mode, seed=settings.seed
        )

    async def read(self, offset: int, length: int) -> bytes:
        """Handle a read.

        Raises:
            OSError: EIO.
        """
        self._counts["reads"] += 1
        self._counts["bytes_read"] += length
        await self._admit("read", offset, length, self.settings.read_errors)
        content = self._cache.read(offset, length)
        if self.settings.read_flips and self._random.random() < self.settings.read_flips:
            content = self._flipped(content)
        return content

    async def write(self, offset: int, content: bytes) -> None:
        """Handle a write.

        Raises:
            OSError: EIO.
        """
        settings = self.settings
        self._counts["writes"] += 1
        self._counts["bytes_written"] += len(content)
        await self._admit("write", offset, len(content), settings.write_errors)
        if settings.write_flips and self._random.random() < settings.write_flips:
            content = self._flipped(content)
        if self._log is not None:
            self._log.write(offset, content)
        self._cache.write(offset, content)
        if self._cache.size > settings.cache:
            count = self._cache.destage(settings.cache // 2)
            if self._log is not None:
                self._log.mark(Kind.DESTAGE, count)

    async def flush(self) -> None:
        """Handle a flush.

        Raises:
            OSError: EIO.
        """
        self._counts["flushes"] += 1
        if self.settings.flush:
            await wait_until(time.monotonic() + self.settings.flush / 1e9)
        await self._alive(self.settings.flush_errors)
        if self.settings.flush_lies:
            self._counts["lies"] += 1
            self._lies += 1
            return
        self._cache.flush()
        self._lies = 0
        if self._log is not None:
            self._log.mark(Kind.FLUSH)

    async def _admit(self, verb: str, offset: int, length: int, error_rate: float) -> None:
        """Delay a request until it is due, or fail it."""
        if self._limited[verb]:
            due = max(
                self._paces[f"{verb}_bandwidth"].due(length, getattr(self.settings, f"{verb}_bandwidth")),
                self._paces[f"{verb}_iops"].due(1, getattr(self.settings, f"{verb}_iops")),
            )
            await wait_until(due)
        first, last = offset // SECTOR, (offset + length - 1) // SECTOR
        bad = any(low <= last and first <= high for low, high in self.settings.bad_sectors)
        await self._alive(1.0 if bad else error_rate)

    async def _alive(self, error_rate: float) -> None:
        """Wait while the disk is frozen; fail if it has no power, or with the given error rate."""
        if not self._thawed.is_set():
            await self._thawed.wait()
        if self._dead or (error_rate and self._random.random() < error_rate):
            self._counts["errors"] += 1
            raise OSError(errno.EIO, "the disk failed the request")

    def _flipped(self, content: bytes) -> bytes:
        self._counts["flips"] += 1
        changed = bytearray(content)
        changed[self._random.randrange(len(changed))] ^= 1 << self._random.randrange(8)
        return bytes(changed)
