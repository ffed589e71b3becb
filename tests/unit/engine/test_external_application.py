"""An application that its owner runs: what is said, and how long it is awaited."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaoskit.base.quantities import SECOND
from chaoskit.contract.event import ApplicationAwaited, Event, Problem
from chaoskit.contract.workloads.application import Application
from chaoskit.report.telling import told
from chaoskit.run.application.external import NAMES, await_owner

_WHERE = {"endpoints": "10.0.0.1:9092", "reads": "orders-a1"}


class _Events:
    def __init__(self) -> None:
        self.seen: list[Event] = []

    def on(self, event: Event) -> None:
        self.seen.append(event)


def _await(folder: Path, owners: Iterator[int]) -> list[Event]:
    events, application = _Events(), Application((), 0, None, partitions=3, ready_ns=SECOND // 2)
    await_owner(application, _WHERE, folder, events, lambda: next(owners))
    return events.seen


def test_it_is_told_where_and_awaited_until_it_owns_everything(tmp_path: Path) -> None:
    (event,) = _await(tmp_path, iter([0, 2, 3]))

    assert event == ApplicationAwaited(_WHERE, str(tmp_path / NAMES), 0.5)
    assert told(event).startswith("start your application now, within 0.5 s: endpoints=10.0.0.1:9092, reads=orders-a1")
    assert json.loads((tmp_path / NAMES).read_text()) == _WHERE


def test_the_load_begins_when_its_time_is_over(tmp_path: Path) -> None:
    _, event = _await(tmp_path, iter([1] * 1000))

    assert isinstance(event, Problem)
    assert "1 of 3 partitions have an owner" in event.text


def test_what_fails_meanwhile_is_raised(tmp_path: Path) -> None:
    def failing() -> Iterator[int]:
        yield 0
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _await(tmp_path, failing())
