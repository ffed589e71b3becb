"""Notices that somebody syncs all file systems of this machine, which saves what a power cut was to lose.

`sync` flushes every file system, also an idle one that nobody else knows of. Each lab has one, on a loop device, in a
mount namespace of its own; whatever flushes that device syncs all file systems. A sync is known 50 ms after it ended.
Kernels before 5.5 do not count flushes: nothing is noticed there.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from pathlib import Path

from chaoskit.base.quantities import SECOND
from chaoskit.base.waiting import wait_until
from chaoskit.contract.hosts.host import HostError

_SIZE = 256 * 1024
_POLL_S = 0.05
_STEP_S = 0.01
_AGAIN_NS = 10_000_000_000
"""Who synced twice in so short a time will do it again."""

_FRESH_NS = 100_000_000
"""For so long after it was quiet enough, nobody waits for the next sync."""

_FLUSHES = 15
"""Number of the field of a block device's statistics that counts flushes."""

_KEEP = """
mount --make-rprivate /
mount -t ext4 -o loop "$1/image" "$1/mount"
stat -c %Hd:%Ld "$1/mount"
exec cat
"""


def is_moment(seen_ns: Sequence[int], now_ns: int, quiet_ns: int) -> bool:
    """Return whether a power cut has something to lose now, and will still have it in a moment.

    Where somebody syncs again and again, that is right after it has been quiet for long enough: later the next sync
    may come first.

    Args:
        seen_ns: when syncs were seen.
        now_ns: now.
        quiet_ns: how long it must have been quiet.

    >>> is_moment([1_000], 2_000, 500), is_moment([1_000], 1_200, 500)
    (True, False)
    >>> second = 1_000_000_000
    >>> is_moment([0, second], 2 * second, second // 2), is_moment([0, second], second * 8 // 5, second // 2)
    (False, True)
    """
    quiet = now_ns - seen_ns[-1]
    repeated = len(seen_ns) > 1 and now_ns - seen_ns[-2] < _AGAIN_NS
    return quiet >= quiet_ns and (not repeated or quiet <= quiet_ns + _FRESH_NS)


class SyncWitness:
    """Counts the syncs of all file systems of this machine, until it is closed or this process ends.

    Args:
        folder: folder for its image; it is created.
        environment: of the process that keeps the file system mounted.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        (folder / "mount").mkdir(parents=True)
        with (folder / "image").open("wb") as image:
            image.truncate(_SIZE)
        features = ["-O", "^has_journal,^resize_inode", "-b", "1024", "-N", "16", "-m", "0"]
        subprocess.run(["mkfs.ext4", "-q", "-F", *features, str(folder / "image")], check=True)
        self._keeper = subprocess.Popen(
            ["unshare", "--mount", "sh", "-euc", _KEEP, "witness", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={"PATH": os.environ["PATH"], **environment},
        )
        assert self._keeper.stdout is not None
        number = self._keeper.stdout.readline().strip()
        if not number:
            raise HostError(f"no file system could be mounted in {folder}; `chaoskit doctor` shows what is missing")
        self._statistics = Path("/sys/dev/block", number, "stat")
        self._flushes = 0
        self._flushes = self._count()
        self._seen_ns: list[int] = []
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def first_after(self, at_ns: int) -> int | None:
        """Return when the first sync after a time was seen, CLOCK_MONOTONIC in ns; None if there was none."""
        self._look()
        place = bisect_left(self._seen_ns, at_ns)
        return self._seen_ns[place] if place < len(self._seen_ns) else None

    def last(self) -> int | None:
        """Return when the last sync was seen, CLOCK_MONOTONIC in ns; None if there was none."""
        self._look()
        return self._seen_ns[-1] if self._seen_ns else None

    def syncs_ns(self) -> list[int]:
        """Return when syncs were seen, CLOCK_MONOTONIC in ns."""
        self._look()
        return list(self._seen_ns)

    def await_quiet(self, quiet_ns: int, within_ns: int) -> None:
        """Return once nobody has synced for a while; in any case after some time.

        Args:
            quiet_ns: for how long.
            within_ns: after how long it returns in any case.
        """
        wait_until(
            lambda: self.last() is None or is_moment(self._seen_ns, time.monotonic_ns(), quiet_ns),
            within_ns / SECOND,
            every_s=_STEP_S,
        )

    def close(self) -> None:
        """End it, and unmount its file system."""
        self._closed.set()
        self._thread.join()
        assert self._keeper.stdin is not None
        assert self._keeper.stdout is not None
        self._keeper.stdin.close()
        self._keeper.stdout.close()
        self._keeper.wait()

    def _watch(self) -> None:
        while not self._closed.wait(_POLL_S) and self._keeper.poll() is None:
            self._look()

    def _look(self) -> None:
        with self._lock:
            if self._keeper.poll() is not None:  # the number of its device may be another one's by now
                return
            count = self._count()
            if count != self._flushes:
                self._flushes = count
                self._seen_ns.append(time.monotonic_ns())

    def _count(self) -> int:
        """Return how often its device was flushed; 0 if that is not counted, or it is gone."""
        try:
            fields = self._statistics.read_text().split()
        except OSError:
            return self._flushes
        return int(fields[_FLUSHES]) if len(fields) > _FLUSHES else 0
