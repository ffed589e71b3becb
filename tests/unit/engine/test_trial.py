"""When the load of a trial ends, and what a trial says of services and groups afterwards."""

from __future__ import annotations

import threading
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from samples import plan

from chaoskit.base.quantities import SECOND
from chaoskit.contract.systems.installation import Revival
from chaoskit.model.progress import Progress
from chaoskit.run.faults.due import Due
from chaoskit.run.groups import await_probes
from chaoskit.run.interruption import INTERRUPTED, Interruption
from chaoskit.run.loading import Loading
from chaoskit.run.recovering import Recovering
from chaoskit.run.tenancy import Tenancy


class Supervised:
    """A cluster whose services were started again at some times, in s."""

    def power(self, kind: type) -> Supervised:
        return self

    def __init__(self, *at_s: float) -> None:
        self.told = [Revival(int(at * SECOND), "n1", "bookie", ("n2",), "exited") for at in at_s]

    def revivals(self) -> list[Revival]:
        return self.told


def _tenancy(cluster: Any) -> Tenancy:
    given: Any = SimpleNamespace(service=cluster, database=None, namespace=str, on=lambda _: None)
    return Tenancy(plan(), given, Path(), given)


def _client(*, running: bool = True, **result: Any) -> Any:
    worker = SimpleNamespace(result=result)
    return SimpleNamespace(name="consumer-0", workers=[worker], lost=lambda: not running)


def _ended(folder: Path, start_ns: int, *, interrupted: bool = False, failures: tuple[str, ...] = ()) -> int:
    """Return when a load of 20 s ended that began at `start_ns`."""
    watcher: Any = SimpleNamespace(on=lambda _: None)
    stop = Interruption()
    if interrupted:
        stop.set()
    fleet: Any = SimpleNamespace(
        progress=Progress, latency=str, failures=lambda: list(failures), full=lambda: None, here=lambda _: {}
    )
    conductor: Any = SimpleNamespace(course=SimpleNamespace(active={}, full=None, due=Due()))
    loading = Loading(
        plan(), fleet, [], conductor, folder, start_ns=start_ns, origin_ns=0, watcher=watcher, interrupted=stop
    )
    loading.wait()
    assert not loading.held_ns
    assert loading.problems == [*failures, *([INTERRUPTED] if interrupted else [])]
    ended_ns: int = loading.recorded()["end_ns"]
    return ended_ns


def test_the_load_ends_when_it_was_due_however_late_that_is_noticed(tmp_path: Path) -> None:
    start_ns = time.monotonic_ns() - 30 * SECOND

    assert _ended(tmp_path, start_ns) == start_ns + 20 * SECOND


def test_a_load_that_was_interrupted_ends_then(tmp_path: Path) -> None:
    begun_ns = time.monotonic_ns()

    assert begun_ns <= _ended(tmp_path, begun_ns, interrupted=True) <= time.monotonic_ns()


def test_a_load_whose_client_died_ends_then(tmp_path: Path) -> None:
    begun_ns = time.monotonic_ns()

    assert begun_ns <= _ended(tmp_path, begun_ns, failures=("producer-0 exited",)) <= time.monotonic_ns()


@pytest.mark.parametrize(("before", "during", "stopped"), [(False, False, 0), (False, True, 1), (True, False, 0)])
def test_a_final_read_that_is_interrupted_ends_with_what_was_read(before: bool, during: bool, stopped: int) -> None:
    """One that was interrupted before, during the load, still is made."""
    recovering, looks = _recovering(), iter(range(3))
    stops: list[object] = []
    if before:
        recovering._interrupted.set()

    def running() -> bool:
        if during:
            recovering._interrupted.set()
        return next(looks, None) is not None

    auditors = [SimpleNamespace(running=running)]
    fleet: Any = SimpleNamespace(
        launch=lambda _: auditors, go=lambda _: 0, progress=Progress, stop=stops.append, join=lambda *_: []
    )

    assert recovering._read_finally(fleet) == auditors
    assert len(stops) == stopped
    assert (INTERRUPTED in recovering._problems) == bool(stopped)


def test_what_exited_during_the_load_crashed_and_what_exited_before_is_a_problem() -> None:
    crashed, doubts = _tenancy(Supervised(3, 9)).crashed(5 * SECOND, 0)

    assert [(crash["service"], crash["at_ns"]) for crash in crashed] == [("bookie", 9 * SECOND)]
    assert doubts == ["bookie on n1 had to be restarted before the load: it exited"]


def test_what_an_earlier_trial_told_is_not_told_again() -> None:
    tenancy = _tenancy(Supervised(3, 9))
    tenancy._revived_before = 2

    assert tenancy.crashed(0, 0) == ([], [])


@pytest.mark.parametrize(
    ("auditor", "consumer", "group"),
    [
        ({"probed": ["t/0"]}, {"probed": ["t/0"]}, []),
        ({"probed": ["t/0", "t/1"]}, {"probed": ["t/0"]}, ["t/1"]),
        ({}, {"probed": ["t/0"]}, None),
        ({"probed": ["t/0"]}, {"running": False}, None),
    ],
    ids=["served", "behind", "nothing was read", "a member is lost"],
)
def test_a_group_is_judged_by_the_probes_that_the_final_read_received(
    monkeypatch: pytest.MonkeyPatch, auditor: dict[str, Any], consumer: dict[str, Any], group: list[str] | None
) -> None:
    recovering = _recovering()
    monkeypatch.setattr("chaoskit.run.recovering.await_probes", partial(_within, 0.01))
    behind = recovering._await_groups([[_client(**consumer)]], [_client(**auditor)])

    assert (behind and behind["behind"]) == group
    assert (recovering._problems == []) is (group is not None)


def _recovering() -> Recovering:
    given: Any = SimpleNamespace(on=lambda _: None)
    return Recovering(plan(), given, given, Interruption(), [])


def _within(bound_s: float, members: Any, wanted: Any, _: float, interrupted: threading.Event) -> Any:
    return await_probes(members, wanted, bound_s, interrupted)
