"""The drivers of a run: they run its clients, their clocks are compared, and what was recorded there is fetched."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

from chaoskit.base.clocks import compared
from chaoskit.base.errors import BadInput, RunFailed
from chaoskit.base.journal import Journal
from chaoskit.base.parallel import on_each
from chaoskit.contract.clients.driver import Driving, LoadHost
from chaoskit.history.compacting.drivers import Comparison, DriverLog
from chaoskit.scenario.plan import Plan

_EVERY_S = 1.0
_QUESTIONS = 8
"""Questions of each comparison, for each of both clocks."""

_ERROR_MAX_MS = 50
_CLOCK_MODULE = "chaoskit.run.clock"


class ClockWatch:
    """Compares the clock of a driver with this machine's, every second until it is closed.

    Args:
        driver: the driver.
        log: where comparisons are recorded.
        errors: file for what its process says.

    Attributes:
        ahead_ns: by how much the driver's CLOCK_MONOTONIC is ahead, as last compared.

    Raises:
        RunFailed: it does not answer, or too slowly to compare clocks.
    """

    def __init__(self, driver: LoadHost, log: DriverLog, errors: Path) -> None:
        self._driver = driver
        self._log = log
        self._process = driver.spawn("clock", [_CLOCK_MODULE], errors)
        self._closing = threading.Event()
        try:
            comparison = self._compare()
        except (OSError, ValueError) as error:
            self._end()
            reason = errors.read_text(errors="replace").strip() or str(error)
            raise RunFailed(f"driver {driver.name} did not report its clock: {reason}") from error
        if comparison.error_ns > _ERROR_MAX_MS * 1_000_000:
            self._end()
            error_ms = comparison.error_ns / 1e6
            raise RunFailed(
                f"driver {driver.name} answers too slowly: its clock is known only to ± {error_ms:.0f} ms "
                f"only (at most {_ERROR_MAX_MS}); use a machine that is nearer or less busy"
            )
        self.ahead_ns: int = comparison.ahead_ns
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self._watching.start()

    def close(self) -> None:
        """Compare a last time, and stop."""
        self._closing.set()
        self._watching.join()
        self._end()

    def _watch(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # it is gone: what its clients recorded is fetched regardless
            while not self._closing.wait(_EVERY_S):
                self.ahead_ns = self._compare().ahead_ns
            self._compare()

    def _compare(self) -> Comparison:
        wall = compared(lambda: self._ask()[1], time.time_ns, _QUESTIONS)
        comparison = Comparison(*compared(lambda: self._ask()[0], time.monotonic_ns, _QUESTIONS), wall.ahead_ns)
        self._log.compared(self._driver.name, comparison)
        return comparison

    def _ask(self) -> tuple[int, int]:
        """Return its CLOCK_MONOTONIC and its wall clock, ns."""
        asked, answers = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answers is not None
        asked.write(b"\n")
        asked.flush()
        monotonic_ns, wall_ns = map(int, answers.readline().split())
        return monotonic_ns, wall_ns

    def _end(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


class Crew:
    """The drivers of a run, which take its producers and consumers in turn; empty if the harness runs them.

    Args:
        drivers: the drivers.
        folder: the run folder.
    """

    def __init__(self, drivers: list[LoadHost], folder: Path) -> None:
        self._drivers = drivers
        self._log = DriverLog(folder / "wal")
        self._wal = folder / "wal"
        self._watches: dict[str, ClockWatch] = {}
        self._turn = cycle(drivers)
        logs = folder / "logs" / "drivers"
        if drivers:
            logs.mkdir(parents=True, exist_ok=True)
        try:
            for driver in drivers:
                self._watches[driver.name] = ClockWatch(driver, self._log, logs / f"{driver.name}.log")
        except BaseException:
            self._stop_watching()
            raise

    def next_for(self, client: str) -> LoadHost | None:
        """Return the driver that a new client runs on, which is recorded; None: the harness."""
        if not self._drivers:
            return None
        driver = next(self._turn)
        self._log.runs(client, driver.name)
        return driver

    def ahead_ns(self, driver: LoadHost) -> int:
        """Return by how much a driver's CLOCK_MONOTONIC is ahead of this machine's, as last compared."""
        return self._watches[driver.name].ahead_ns

    def gather(self) -> None:
        """Fetch what the clients recorded, and remove it on the drivers.

        Raises:
            ChaoskitError: a driver cannot be reached.
        """
        self._stop_watching()
        on_each(self._drivers, self._gather)

    def _gather(self, driver: LoadHost) -> None:
        driver.gather(self._wal)
        self._log.gathered(driver.name)
        driver.close()

    def _stop_watching(self) -> None:
        for watch in self._watches.values():
            watch.close()
        self._watches = {}


@contextlib.contextmanager
def crew_of(plan: Plan, folder: Path) -> Iterator[Crew]:
    """Have the drivers of a plan ready for a while; then fetch what was recorded there.

    Raises:
        RunFailed: a driver failed, or cannot be reached any more; `chaoskit heal` then fetches it.
    """
    names = plan.scenario.workload.drivers or []
    if not names:
        yield Crew([], folder)
        return
    assert isinstance(plan.provider, Driving)
    journal = Journal(f"drivers-{os.getpid()}-{id(plan):x}")
    try:
        drivers = list(plan.provider.drivers(journal, plan.provider_options, names, folder / "wal"))
        crew = Crew(drivers, folder)
        try:
            yield crew
        finally:
            crew.gather()
    except BadInput as error:
        journal.release()
        raise RunFailed(str(error)) from error
    except BaseException:
        journal.release()
        raise
    journal.close()
