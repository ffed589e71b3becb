"""The user's own program, on a real cluster: what it leaves out is found, and who is to blame."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

_APPLICATIONS = Path(__file__).parents[2] / "examples" / "applications"


@pytest.mark.chaos
def test_who_commits_before_its_work_is_found(chaos: Any) -> None:
    run = chaos(
        cluster={"system": "kafka", "hosts": 1},
        workload={
            "kind": "pipeline",
            "reads": {"topic": "orders"},
            "writes": {"topic": "payments"},
            "rate": 400,
            "duration": "8s",
            "application": {
                "run": [
                    sys.executable,
                    str(_APPLICATIONS / "commit-first" / "defect.py"),
                    "{endpoints}",
                    "{reads}",
                    "{writes}",
                ],
            },
        },
        faults=[{"at": "4s", "inject": "kill", "on": "application", "for": "500ms"}],
        expect={"unprocessed": "some"},
    )
    run.assert_valid()

    details = {example["detail"] for example in run.anomalies["unprocessed"].examples}
    assert all("application-0 ended" in detail and "commits before its work is done" in detail for detail in details)
    assert run.verdict.faults[0]["at_stake"] > 0
