"""Every ready-made scenario, on real clusters: what must be kept is kept, and each control loses; and nothing explains
a near miss of what was recorded.

Scenarios on the same ground follow each other (`conftest`), and share a deployment as long as each leaves it as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from shipped import variants

from chaoskit.base.quantities import SECOND
from chaoskit.run.site import Site
from chaoskit.scenario.files import Written
from chaoskit.scenario.plan import make_plan
from chaoskit.testing.nearmiss import check as near_misses

SHORT = {
    "kafka/power-all:os-flush",
    "kafka/zookeeper-quiet:v2-3",
    "pulsar/power-all:journal-os",
    "bookkeeper/fencing",
    "rabbitmq/restart:transient",
    "rocketmq/power-all:alone",
    "mosquitto/crash-subscriber:qos-0",
    "cyclonedds/partition:keep-last",
    "zenoh/packet-loss:udp",
}
"""Those that `make test` runs: a short trial of each system, and of Kafka with ZooKeeper; `make chaos` runs all but the
nightly ones."""

INVALID = {
    "kafka/mix:weak",
    "kafka/power-after-format",
    "rabbitmq/unsynced-metadata:mnesia",
    "rocketmq/master-isolated:left-behind",
    "rocketmq/disk-wiped:one-copy",
    "bookkeeper/lost-volume:immediate",
    "bookkeeper/read-only-restart:v4-17-2",
}
"""Those that are meant to fail."""

DOUBTED = {
    "kafka/late-end:librdkafka": "aborted-read",
    "kafka/late-end:java-one-epoch": "aborted-read",
}
"""Those whose producers end for good, so that the verdict is unknown, and what they must show."""

_NIGHTLY_NS = 100 * SECOND


def _marked(spec: str, written: Written) -> Any:
    duration = written.parsed().workload.duration
    marks = [pytest.mark.nightly] if duration > _NIGHTLY_NS else []
    return pytest.param(written, id=spec, marks=marks if spec in SHORT else [*marks, pytest.mark.long])


@pytest.fixture(scope="module")
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    given = request.config.getoption("--chaos-store")
    with Site(given or tmp_path_factory.mktemp("store")) as site:
        yield site


@pytest.mark.chaos
@pytest.mark.parametrize("written", [_marked(spec, written) for spec, written in variants().items()])
def test_a_scenario_shows_what_it_says(written: Written, site: Site, chaos: Any, request: Any) -> None:
    spec = request.node.callspec.id
    run = chaos.run_scenario(written.parsed(), written.source, site)

    if spec in DOUBTED:
        assert run.verdict.verdict == "unknown"
        assert run.anomalies[DOUBTED[spec]].count > 0
        assert all("failed permanently" in reason for reason in run.verdict.reasons)
    elif spec in INVALID:
        assert run.verdict.verdict == "invalid"
    else:
        run.assert_valid()
    # What is allowed because it is expected must be explained, too.
    rules = make_plan(written.parsed(), written.source, seed=1).guarantees.rules
    explaining = {cause["rule"] for anomaly in run.anomalies.values() for cause in anomaly.causes}
    assert {rule.id for rule in rules if rule.shown == spec and not rule.alone} <= explaining
    assert [miss for miss in near_misses(run.folder) if miss.kinder or miss.accused] == []
