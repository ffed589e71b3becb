"""What a client records: topics and groups under the workload's names, whatever they are called in the system."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.history.compacting.compact import compact
from chaoskit.history.format.models import write_topics
from chaoskit.history.format.origin import write_origin
from chaoskit.history.reading.reader import History, read_observations
from chaoskit.history.recording.recorder import WalRecorder
from chaoskit.history.recording.wal import WalWriter
from chaoskit.model.audit import Bounds
from chaoskit.model.message import Delivery
from chaoskit.model.observations.group import Committed
from chaoskit.model.observations.row import KINDS, Row
from chaoskit.model.outcome import FAIL, INFO, OK
from chaoskit.model.payload import Writer


@pytest.mark.parametrize("namespace", ["", "t1-"])
def test_the_history_has_the_names_of_the_workload(tmp_path: Path, namespace: str) -> None:
    (tmp_path / "wal").mkdir()
    write_origin(tmp_path / "wal")
    write_topics(tmp_path / "wal", {"log-0": LOG.name})
    with WalWriter(tmp_path / "wal", "consumer-0", 0) as wal:
        recorder = WalRecorder(wal, run_id=7, namespace=namespace)
        topic = recorder.in_system("log-0")
        assert topic == f"{namespace}log-0"
        recorder.completed(recorder.send(recorder.topic_id(topic), 0, 0, 5, 1, 1), OK, None, 9)
        poll = recorder.invoke("poll")
        recorder.received(poll, [Delivery(topic, 0, b"k", Writer(7, 100).build(5, 1, 1), 9, None)])
        recorder.complete(poll)
        commit = recorder.invoke("commit")
        recorder.observe(commit, topic, 0, Committed(recorder.in_system("group"), 1, 10))
        recorder.complete(commit)
        recorder.audited(topic, 0, Bounds(0, 10, complete=True))
    compact(tmp_path)
    history = History.open(tmp_path)

    (partition,) = history.partitions
    assert (partition.topic, partition.partition) == ("log-0", 0)
    assert [row["topic"] for row in history.messages("log-0", 0).to_pylist()] == ["log-0", "log-0"]
    (observed,) = read_observations(partition).to_pylist()
    assert (observed["topic"], observed["name"]) == ("log-0", "group")
    assert history.audit("log-0", 0) == Bounds(0, 10, complete=True)


@dataclass(frozen=True)
class _Own:
    """An observation of a plug-in's own kind."""

    kind: str
    position: int

    def rows(self) -> Iterator[Row]:
        """Yield its row."""
        yield Row(self.kind, name="group", position=self.position)


def test_an_observation_may_be_of_a_kind_of_a_plug_in(tmp_path: Path) -> None:
    (tmp_path / "wal").mkdir()
    write_origin(tmp_path / "wal")
    write_topics(tmp_path / "wal", {"log-0": LOG.name})
    kinds = ["liked", "committed", "shared", "liked"]
    with WalWriter(tmp_path / "wal", "consumer-0", 0) as wal:
        recorder = WalRecorder(wal, run_id=7)
        for position, kind in enumerate(kinds):
            op = recorder.invoke("look")
            recorder.observe(op, "log-0", 0, _Own(kind, position))
            recorder.complete(op)
    compact(tmp_path)

    (partition,) = History.open(tmp_path).partitions
    observed = read_observations(partition)
    assert observed["kind"].to_pylist() == kinds
    assert observed["name"].to_pylist() == ["group"] * 4
    assert observed["kind"].chunk(0).dictionary.to_pylist() == [*KINDS, "liked", "shared"], "no other name of the run"


def test_progress_counts_what_became_of_each_send(tmp_path: Path) -> None:
    with WalWriter(tmp_path, "producer-0", 0) as wal:
        recorder = WalRecorder(wal, run_id=7)
        for outcome in (OK, OK, OK, FAIL, INFO, INFO):
            recorder.completed(recorder.send(recorder.topic_id("log-0"), 0, 0, 1, 1, 1), outcome, None, None)
        unanswered = recorder.send(recorder.topic_id("log-0"), 0, 0, 1, 1, 1)
        first, second = recorder.report().latency, recorder.report().latency

    progress = recorder.progress
    assert unanswered == 6
    assert (progress.sent, progress.acked, progress.failed, progress.indeterminate) == (7, 3, 1, 2)
    assert sum(first[1]) == 3
    assert second == ([], []), "each latency is reported once"
