"""The events of a run: in its folder and with its watcher, even where the folder cannot be written."""

from __future__ import annotations

import json
import time
from pathlib import Path

from chaoskit.contract.event import Event, PhaseBegun, Problem
from chaoskit.run.eventlog import EVENTS, EventLog


class Ear:
    """Hears."""

    def __init__(self) -> None:
        self.heard: list[Event] = []

    def on(self, event: Event) -> None:
        self.heard.append(event)


def test_an_event_is_written_with_its_time_and_passed_on(tmp_path: Path) -> None:
    ear = Ear()
    log = EventLog(tmp_path, time.monotonic_ns(), ear)
    events: list[Event] = [PhaseBegun("hosts"), Problem("a client died")]
    for event in events:
        log.on(event)

    written = [json.loads(line) for line in (tmp_path / EVENTS).read_text().splitlines()]
    assert ear.heard == events
    assert [(row["event"], row.get("name"), row.get("text")) for row in written] == [
        ("PhaseBegun", "hosts", None),
        ("Problem", None, "a client died"),
    ]
    assert 0 <= written[0]["at_ns"] <= written[1]["at_ns"]


def test_a_folder_that_cannot_be_written_does_not_silence_it(tmp_path: Path) -> None:
    ear = Ear()
    EventLog(tmp_path / "gone", time.monotonic_ns(), ear).on(PhaseBegun("load"))

    assert ear.heard == [PhaseBegun("load")]
