"""What a dead harness left is found and undone; what a live one made is left alone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.base.journal import Journal, abandoned, claims
from chaoskit.run.heal import PROCESS, WORKER_MODULE, heal

pytestmark = pytest.mark.usefixtures("state")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CHAOSKIT_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process whose command line is a worker's, with an order in this test's folder."""
    code = "import sys; print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code, WORKER_MODULE, str(tmp_path / "order.json")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def _leave(name: str, mark: Path) -> None:
    with Journal(name) as journal:
        journal.record(PROCESS, mark=str(mark))


def test_a_journal_that_was_left_is_abandoned_and_newest_entries_come_first() -> None:
    with Journal("run-1") as journal:
        journal.record("local", lab="a")
        journal.record("local", lab="b", range="10.197.3.0/24")

    entries = [journal.entries for journal in abandoned()]

    assert entries == [[{"provider": "local", "lab": "b", "range": "10.197.3.0/24"}, {"provider": "local", "lab": "a"}]]


def test_the_journal_of_a_live_run_is_left_alone() -> None:
    with Journal("live") as journal:
        journal.record("local", lab="a")

        assert list(abandoned()) == []
        assert list(heal()) == []
        assert journal.path.exists()


def test_a_closed_journal_is_gone() -> None:
    journal = Journal("run-1")
    journal.record("local", lab="a")
    journal.close()

    assert not journal.path.exists()
    assert list(abandoned()) == []


def test_an_entry_is_on_the_disk_when_record_returns() -> None:
    with Journal("run-1") as journal:
        journal.record("local", lab="a")

        assert [json.loads(line) for line in journal.path.read_text().splitlines()] == [
            {"provider": "local", "lab": "a"}
        ]


def test_a_torn_last_line_is_left_out() -> None:
    with Journal("run-1") as journal:
        journal.record("local", lab="a")
        journal.record("local", lab="b")
    journal.path.write_bytes(journal.path.read_bytes()[:-4])

    assert [journal.entries for journal in abandoned()] == [[{"provider": "local", "lab": "a"}]]


def test_claims_are_those_of_live_and_of_abandoned_runs() -> None:
    with Journal("dead") as journal:
        journal.record("local", range="10.197.0.0/24")
    with Journal("live") as journal:
        journal.record("local", lab="a")
        journal.record("local", range="10.197.1.0/24")

        assert sorted(claims("range")) == ["10.197.0.0/24", "10.197.1.0/24"]


def test_a_run_that_ends_while_others_are_looked_at_is_passed_over() -> None:
    with Journal("a"), Journal("b") as second:
        pass
    looking = abandoned()
    first = next(looking)
    second.path.unlink()

    assert first.path.name == "a.jsonl"
    assert list(looking) == []


@pytest.mark.usefixtures("sleeper")
def test_healing_ends_the_processes_of_a_dead_harness(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    _leave("run-1", tmp_path / "order.json")

    assert list(heal()) == [f"process {sleeper.pid}"]
    assert sleeper.wait(5) == -9
    assert list(heal()) == []


def test_healing_leaves_other_processes_alone(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    _leave("run-1", tmp_path / "order")

    assert list(heal()) == []
    assert sleeper.poll() is None


def test_healing_leaves_an_editor_on_the_order_alone(tmp_path: Path) -> None:
    _leave("run-1", tmp_path / "order.json")
    command = ["tail", "-f", "/dev/null", str(tmp_path / "order.json")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as viewer:
        try:
            assert heal() == []
            assert viewer.poll() is None
        finally:
            viewer.kill()


def test_a_harness_that_dies_leaves_its_journal(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    code = (
        "import os, signal, sys; from chaoskit.base.journal import Journal\n"
        "journal = Journal('killed'); journal.record('process', mark=sys.argv[1])\n"
        "print(flush=True); signal.pause()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "order.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as harness:
        assert harness.stdout is not None
        harness.stdout.readline()
        assert list(heal()) == []
        harness.kill()
        harness.wait()

    assert list(heal()) == [f"process {sleeper.pid}"]


def test_a_journal_that_cannot_be_healed_is_kept() -> None:
    with Journal("run-1") as journal:
        journal.record("vanished", lab="a")

    with pytest.raises(BadInput, match="journal: there is no host provider 'vanished'"):
        list(heal())

    assert journal.path.exists()


def test_an_entry_that_cannot_be_healed_keeps_no_other_from_being_healed(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    with Journal("run-1") as journal:
        journal.record(PROCESS, mark=str(tmp_path / "order.json"))
        journal.record("vanished", lab="a")
        journal.record("gone", lab="a")

    with pytest.raises(BadInput, match=rf"removed process {sleeper.pid}\n.*'gone'.*\n.*'vanished'"):
        heal()

    assert sleeper.wait(5) == -9
