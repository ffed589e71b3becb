"""When the load of a trial ends."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from samples import plan

from chaoskit.base.quantities import SECOND
from chaoskit.history.recorder import Progress
from chaoskit.run.trial import Trial


def _ended(start_ns: int, *, interrupted: bool = False, failures: tuple[str, ...] = ()) -> int:
    """Return when a load of 20 s ended that began at `start_ns`."""
    given: Any = SimpleNamespace(cluster=None, trials=(), on=lambda _: None)
    stop = threading.Event()
    if interrupted:
        stop.set()
    trial = Trial(plan(), given, Path(), origin_ns=0, watcher=given, interrupted=stop)
    fleet: Any = SimpleNamespace(progress=Progress, failures=lambda: list(failures))
    return trial._wait_for_load(fleet, SimpleNamespace(active={}), start_ns)  # type: ignore[arg-type]


def test_the_load_ends_when_it_was_due_however_late_that_is_noticed() -> None:
    start_ns = time.monotonic_ns() - 30 * SECOND

    assert _ended(start_ns) == start_ns + 20 * SECOND


def test_a_load_that_was_interrupted_ends_then() -> None:
    begun_ns = time.monotonic_ns()

    assert begun_ns <= _ended(begun_ns, interrupted=True) <= time.monotonic_ns()


def test_a_load_whose_client_died_ends_then() -> None:
    begun_ns = time.monotonic_ns()

    assert begun_ns <= _ended(begun_ns, failures=("producer-0 exited",)) <= time.monotonic_ns()
