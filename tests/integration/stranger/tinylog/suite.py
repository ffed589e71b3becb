"""Its maker's tests: `pytest suite.py -m chaos`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.base.journal import Journal
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.installed import provider, system
from chaoskit.scenario.files import find
from chaoskit.testing.conformance import check_cluster

pytestmark = pytest.mark.chaos


@pytest.fixture
def host() -> Iterator[ServiceHost]:
    local = provider("local", "provider")
    with Journal("tinylog") as journal:
        lab = local.provision(journal, 1, local.options(size="256MiB"))
        yield lab.hosts[0]
        lab.close()
        journal.close()


def test_the_system_is_whole(host: ServiceHost) -> None:
    check_cluster("tinylog", [host], workloads={"log": {}})


def _run(chaos: Any, scenario: str) -> Any:
    (written,) = find(scenario, Path(__file__).parent)
    return chaos.run_scenario(written.parsed(), written.source)


def test_a_kill_loses_nothing(chaos: Any) -> None:
    run = _run(chaos, "tinylog.yaml:killed")

    run.assert_valid()
    assert run.anomalies["lost"].count == 0


@pytest.mark.parametrize("fsync", [False, True])
def test_the_power_takes_what_is_not_on_the_disk(chaos: Any, fsync: bool) -> None:
    (rule,) = system("tinylog", "system").guarantees.rules
    run = _run(chaos, rule.control if fsync else rule.shown)

    run.assert_valid()
    assert (run.anomalies["lost"].count == 0) == fsync
    assert fsync or run.verdict.anomalies["lost"].allowed


def test_what_it_cannot_do_is_refused(chaos: Any) -> None:
    with pytest.raises(BadInput, match="no groups"):
        chaos(cluster={"system": "tinylog", "hosts": 1}, workload={"kind": "log", "consumption": "group"})
