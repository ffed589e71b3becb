"""Its maker's tests: `pytest suite.py -m chaos`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chaoskit.contract.installed import system
from chaoskit.scenario.files import find
from chaoskit.testing.conformance import check_cluster

pytestmark = pytest.mark.chaos


def _run(chaos: Any, scenario: str) -> Any:
    (written,) = find(scenario, Path(__file__).parent)
    return chaos.run_scenario(written.parsed(), written.source)


@pytest.mark.parametrize("settings", [{}, {"resends": True}])
def test_the_system_is_whole(settings: dict[str, Any]) -> None:
    check_cluster("tinymesh", workloads={"feed": {"producer": settings}})


def test_without_a_fault_everything_arrives(chaos: Any) -> None:
    run = _run(chaos, "tinymesh.yaml:quiet")

    run.assert_valid()
    assert run.anomalies["missed"].count == 0
    assert run.verdict.counts["received"] >= 2 * 8 * 200


@pytest.mark.parametrize("resends", [False, True])
def test_what_is_sent_into_a_cut_is_missed_unless_it_is_sent_again(chaos: Any, resends: bool) -> None:
    (rule,) = system("tinymesh", "system").guarantees.rules
    run = _run(chaos, rule.control if resends else rule.shown)

    run.assert_valid()
    assert (run.anomalies["missed"].count == 0) == resends
    assert run.anomalies["lost"].count == 0
    assert resends or run.verdict.anomalies["missed"].allowed


@pytest.mark.parametrize("variant", ["dark", "dark-resends"])
def test_a_subscriber_that_lost_its_power_is_back_after_the_boot(chaos: Any, variant: str) -> None:
    run = _run(chaos, f"tinymesh.yaml:{variant}")

    run.assert_valid()
    assert (run.folder / "logs" / "clients" / "consumer-0#1.log").exists()
