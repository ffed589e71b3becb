"""Our systems, their clients and our workloads pass the suites that third parties' are held to, on real hosts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from chaoskit.base.journal import Journal
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.installed import system, workload
from chaoskit.contract.systems.system import Rooted
from chaoskit.contract.workloads.application import Applying
from chaoskit.contract.workloads.workload import example_options
from chaoskit.report.support import support
from chaoskit.testing.conformance import check_cluster
from clusters.hosts.lab import LocalOptions, LocalProvider

pytestmark = [pytest.mark.chaos, pytest.mark.long]


@pytest.fixture
def hosts(name: str) -> Iterator[Sequence[ServiceHost]]:
    local, plugin = LocalProvider(), system(name, "system")
    root = plugin.root(plugin.options()) if isinstance(plugin, Rooted) else None
    with Journal("test-conformance") as journal:
        lab = local.provision(journal, 3, LocalOptions(), roots=[root] * 3)
        yield lab.hosts
        lab.close()
        journal.close()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("kafka", {}),
        ("kafka", {"clients": "java"}),
        ("pulsar", {}),
        ("pulsar", {"clients": "java", "transactions": True}),
        ("bookkeeper", {}),
        ("rabbitmq", {}),
    ],
    ids=["kafka", "kafka-java", "pulsar", "pulsar-java", "bookkeeper", "rabbitmq"],
)
def test_a_system_is_whole(name: str, options: dict[str, Any], hosts: Sequence[ServiceHost]) -> None:
    plugin = system(name, "system")
    powers = {*plugin.client_powers(plugin.options(**options))}
    workloads = {kind: workload(kind, kind) for kind in support(plugin).workloads}
    # Applications and the clients of a live cluster are run by others.
    own = {kind: load for kind, load in workloads.items() if load.tasks(example_options(load))}
    possible = [
        kind for kind, load in own.items() if {*load.client_powers} <= powers and not isinstance(load, Applying)
    ]
    check_cluster(name, hosts, options, {kind: {} for kind in possible})
