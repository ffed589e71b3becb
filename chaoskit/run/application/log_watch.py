"""Notes when the logs of instances grow, so that their lines have times of the run's clock.

It looks at the sizes of the files, and so changes nothing for those who write them: a pipe of its own could fill up. A
time is known to about 50 ms, and is that at which a line was in the file: a program that buffers what it prints is that
much late.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from chaoskit.history.format.log_times import packed, times_path

_LOOK_S = 0.05


class LogWatch:
    """Watches logs from its beginning to its end.

    Args:
        logs: the files, which need not exist yet.
        origin_ns: the start of the run, CLOCK_MONOTONIC ns.
    """

    def __init__(self, logs: Sequence[Path], origin_ns: int) -> None:
        self._watched = [_Watched(log, origin_ns) for log in logs]
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="logs", daemon=True)

    def begin(self) -> None:
        """Note how long the logs are now, and from now on whenever they grow."""
        self.look()
        self._thread.start()

    def end(self) -> None:
        """Look for the last time."""
        self._ending.set()
        if self._thread.ident is not None:
            self._thread.join()
        self.look()

    def look(self) -> None:
        """Note which logs have grown since the last look."""
        for log in self._watched:
            log.look()

    def _watch(self) -> None:
        while not self._ending.wait(_LOOK_S):
            self.look()


class _Watched:
    """One log.

    Args:
        log: the file.
        origin_ns: the start of the run, CLOCK_MONOTONIC ns.
    """

    def __init__(self, log: Path, origin_ns: int) -> None:
        self._log = log
        self._times = times_path(log)
        self._origin_ns = origin_ns
        self._size = -1
        self._seen_ns = self._noted_ns = 0

    def look(self) -> None:
        """Note its size if it has changed, and when it had the former one for the last time.

        What cannot be noted, since the disk is full, is noted later: what was written meanwhile then has a longer
        interval.
        """
        try:
            size = self._log.stat().st_size
        except FileNotFoundError:
            size = 0
        now_ns = time.monotonic_ns() - self._origin_ns
        if size == self._size:
            self._seen_ns = now_ns
            return
        pairs = [(self._size, self._seen_ns)] if self._seen_ns > self._noted_ns else []
        with suppress(OSError):
            self._note(packed([*pairs, (size, now_ns)]))
            self._size, self._seen_ns, self._noted_ns = size, now_ns, now_ns

    def _note(self, pairs: bytes) -> None:
        """Append pairs, all of them or none."""
        with self._times.open("ab", buffering=0) as file:
            begin = file.tell()
            if file.write(pairs) < len(pairs):
                file.truncate(begin)
                raise OSError(f"{self._times}: the disk is full")
