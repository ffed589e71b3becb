"""Who owns partitions is asked in a process of its own, which may die."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaoskit.contract.clients.application import PartitionOwner
from clusters.kafka.clients import ownership
from clusters.kafka.clients.ownership import OwnerQuestions

_ANSWERS = """
import json, os, sys
asked = json.loads(sys.stdin.readline())
sys.stdin.readline()
print(json.dumps([["payments", asked["topics"][0], 2, "10.1.2.3"]]), flush=True)
sys.stdin.readline()
"""
_DIES = "os.abort()\n"
_HANGS = "import time; time.sleep(60)\n"


@pytest.fixture
def observed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[OwnerQuestions]:
    """A process that answers once and then does what the test wants."""
    program = tmp_path / "program.py"
    program.write_text(_ANSWERS + request.param)
    monkeypatch.setattr(ownership, "_COMMAND", (sys.executable, str(program)))
    process = OwnerQuestions({}, ["orders"], "chaoskit")
    yield process
    process.close()


@pytest.mark.parametrize("observed", [_DIES, _HANGS], indirect=True, ids=["dies", "hangs"])
def test_a_process_that_dies_or_hangs_answers_nothing_and_is_started_again(
    observed: OwnerQuestions, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = [PartitionOwner("payments", ("orders", 2), "10.1.2.3")]
    assert observed.ask() == seen
    with monkeypatch.context() as impatient:
        impatient.setattr(ownership, "_ANSWERED_S", 1.0)
        assert observed.ask() is None
    assert observed.ask() == seen


def test_nobody_answers_where_no_broker_is() -> None:
    process = OwnerQuestions({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}, ["orders"], "chaoskit")
    assert process.ask() is None
    process.close()
