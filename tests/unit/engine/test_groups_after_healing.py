"""After healing, a group must receive a fresh message of every partition; what cannot be judged is said."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator

import pytest

from chaoskit.run import groups
from chaoskit.run.groups import await_probes

PLACES = ["log-0/0", "log-0/1"]


class Members:
    """Members that receive something at each look, as told: probes and further messages."""

    def __init__(self, *steps: tuple[set[str], int], lost: tuple[str, ...] = ()) -> None:
        self._steps: Iterator[tuple[set[str], int]] = iter(steps)
        self._probed: set[str] = set()
        self._received: Counter[str] = Counter()
        self._lost = list(lost)

    def probed(self) -> set[str]:
        step = next(self._steps, None)
        if step is not None:
            self._probed |= step[0]
            self._received[PLACES[1]] += step[1]
        return self._probed

    def received(self) -> Counter[str]:
        return self._received.copy()

    def lost(self) -> list[str]:
        return self._lost


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "_TICK_S", 0.001)


def test_a_group_that_received_every_probe_is_served() -> None:
    probes = await_probes([Members(({PLACES[0]}, 5), ({PLACES[1]}, 5))], PLACES, 5, threading.Event())

    assert probes is not None
    assert probes["behind"] == []


def test_a_partition_without_an_owner_is_behind() -> None:
    probes = await_probes([Members(({PLACES[0]}, 0))], PLACES, 0.05, threading.Event())

    assert probes is not None
    assert (probes["behind"], probes["slow"], probes["took_s"] >= 0.05) == (["log-0/1"], [], True)


def test_a_slow_group_is_not_behind() -> None:
    probes = await_probes([Members(({PLACES[0]}, 1), (set(), 1))], PLACES, 0.05, threading.Event())

    assert probes is not None
    assert (probes["behind"], probes["slow"]) == ([], ["log-0/1"])


def test_what_a_lost_member_owes_is_not_held_against_the_system() -> None:
    assert await_probes([Members(lost=("consumer-0",))], PLACES, 0.05, threading.Event()) is None
    assert await_probes([Members((set(PLACES), 1), lost=("consumer-0",))], PLACES, 0.05, threading.Event()) is not None


def test_every_group_must_receive_every_probe() -> None:
    groups = [Members((set(PLACES), 1)), Members(({PLACES[0]}, 0))]
    probes = await_probes(groups, PLACES, 0.05, threading.Event())

    assert probes is not None
    assert (probes["behind"], probes["slow"]) == (["log-0/1"], [])


def test_an_interrupted_wait_judges_nothing() -> None:
    interrupted = threading.Event()
    interrupted.set()

    assert await_probes([Members()], PLACES, 60, interrupted) is None
