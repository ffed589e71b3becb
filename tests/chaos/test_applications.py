"""The user's own program, on a real cluster: what it leaves out is found, and who is to blame."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from chaoskit.base.waiting import wait_until
from chaoskit.run.application.external import NAMES

_APPLICATIONS = Path(__file__).parents[2] / "examples" / "applications"


def _load(rate: int, duration: str, application: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": "pipeline",
        "reads": {"topic": "orders"},
        "writes": {"topic": "payments"},
        "rate": rate,
        "duration": duration,
        "application": application,
    }


@pytest.mark.chaos
def test_who_commits_before_its_work_is_found(chaos: Any) -> None:
    program = str(_APPLICATIONS / "commit-first" / "defect.py")
    # Its payments do not arrive, so that it is killed between commit and work whenever the kill comes.
    payments_lost = {"inject": "wire", "on": "n1", "message": "Produce", "of": "request", "of_client": "rdkafka"}
    run = chaos(
        cluster={"system": "kafka", "hosts": 1},
        workload=_load(400, "8s", {"run": [sys.executable, program, "{endpoints}", "{reads}", "{writes}"]}),
        faults=[
            {"at": "3s", **payments_lost, "then": "drop", "for": "2500ms"},
            {"at": "4500ms", "inject": "kill", "on": "application", "for": "500ms"},
        ],
        expect={"unprocessed": "some"},
    )
    run.assert_valid()

    details = {example["detail"] for example in run.anomalies["unprocessed"].examples}
    assert all("application-0 ended" in detail and "commits before its work is done" in detail for detail in details)
    assert run.verdict.faults[1]["at_stake"] > 0
    _, _, printed = run.summary.partition("in logs/application/application-0.log:\n")
    assert any("committed" in line for line in printed.splitlines()[:2])


@pytest.mark.chaos
@pytest.mark.long
def test_one_that_its_owner_runs_is_told_where_and_awaited(chaos: Any, request: pytest.FixtureRequest) -> None:
    store = Path(str(request.config.getoption("--chaos-store") or "chaos-store"))
    before = set(store.glob(f"*/*/{NAMES}"))
    started: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        assert wait_until(lambda: bool(set(store.glob(f"*/*/{NAMES}")) - before), 90)
        (path,) = set(store.glob(f"*/*/{NAMES}")) - before
        names = json.loads(path.read_text())
        program = str(_APPLICATIONS / "commit-first" / "right.py")
        arguments = [names["endpoints"], names["reads"], names["writes"]]
        started.append(subprocess.Popen([sys.executable, program, *arguments]))

    owner = threading.Thread(target=start)
    owner.start()
    try:
        run = chaos(
            cluster={"system": "kafka", "hosts": 1},
            workload=_load(200, "6s", {"external": True}),
            faults=[{"at": "2s", "inject": "pause", "on": "n1", "for": "1s"}],
            expect={"unprocessed": "none"},
        )
    finally:
        owner.join()
        for process in started:
            process.terminate()
            process.wait()

    run.assert_valid()
    assert run.verdict.counts["acked"] > 1000
