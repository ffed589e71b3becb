"""Labs with data disks of each kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from echo import EchoCluster
from scratch import Make

from chaoskit.base.journal import Journal
from clusters.hosts.lab import LocalLab, LocalOptions, LocalProvider
from nemeses.services import await_answers


@pytest.fixture
def make_echo(journal: Journal) -> Iterator[Make]:
    """Make labs of some hosts with an echo server each."""
    labs: list[LocalLab] = []

    def provision(count: int = 1, **options: Any) -> EchoCluster:
        given = LocalOptions.model_validate({"size": "512MiB"} | options)
        labs.append(LocalProvider().provision(journal, count, given))
        cluster = EchoCluster(labs[-1].hosts)
        await_answers(labs[-1].hosts, cluster)
        return cluster

    yield provision
    for lab in labs:
        lab.close()


@pytest.fixture(params=["plain", "programmable"])
def either_disk(request: pytest.FixtureRequest, make_echo: Make) -> EchoCluster:
    """A host with an echo server, once on a plain and once on a programmable disk."""
    return make_echo(kind=request.param)


@pytest.fixture
def programmable(make_echo: Make) -> EchoCluster:
    """A host with an echo server on a programmable disk."""
    return make_echo(kind="programmable")
