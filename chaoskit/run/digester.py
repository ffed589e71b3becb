"""Digests the logs of a run in a process of its own, so that the load does not wait for it (`record: latency`).

python -m chaoskit.run.digester RUN_FOLDER
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from chaoskit.base.errors import ChaoskitError
from chaoskit.history.digesting import live

_EVERY_S = 2
_MODULE = "chaoskit.run.digester"


class Digester:
    """A process that digests finished segments until it is closed, or this process dies.

    Args:
        run_folder: the run folder.
        log: where its errors go.
    """

    def __init__(self, run_folder: Path, log: Path) -> None:
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _MODULE, str(run_folder)],
                stdin=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )

    @classmethod
    def begun(cls, run_folder: Path, routes: int, start_ns: int) -> Digester:
        """Digest the logs of a run from now on.

        Args:
            run_folder: the run folder.
            routes: number of routes that each producer's messages take in turn.
            start_ns: start of the load, CLOCK_MONOTONIC.
        """
        live.begin(run_folder, routes, start_ns)
        return cls(run_folder, run_folder / "logs" / "digester.log")

    def close(self) -> None:
        """Let it finish what it is digesting; the rest stays in the logs."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def main(run_folder: Path) -> int:
    """Digest until standard input is closed."""
    link = sys.stdin.fileno()
    os.set_blocking(link, False)
    while True:
        began = time.monotonic()
        try:
            if _closed(link):
                return 0
            live.take(run_folder, all_segments=False)
        except ChaoskitError as error:
            sys.stderr.write(f"{error}\n")
            return 1
        time.sleep(max(0.0, _EVERY_S - (time.monotonic() - began)))


def _closed(link: int) -> bool:
    try:
        return not os.read(link, 1)
    except BlockingIOError:
        return False


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
