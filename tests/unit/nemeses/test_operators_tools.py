"""What operators use is there before a run starts: no fault downloads it under load."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.base import plugins
from chaoskit.contract.faults.nemesis import Nemesis, Preparing
from chaoskit.contract.installed import system
from clusters.kafka import artifacts


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The releases of which something is fetched."""
    releases: list[str] = []
    for fetch in ("fetch", "fetch_tools"):
        monkeypatch.setattr(artifacts, fetch, lambda version, name=fetch: releases.append(f"{name} {version}"))
    monkeypatch.setattr("clusters.kafka.checks.check_names", lambda *_: None)
    return releases


def _prepare(kind: str, parameters: dict[str, Any], **options: Any) -> None:
    fault: Nemesis = plugins.load("nemesis", kind, "faults.inject")
    kafka = system("kafka", "system")
    assert isinstance(fault, Preparing)
    fault.prepare(kafka, kafka.options(**options), fault.parameters.model_validate(parameters))


@pytest.mark.parametrize("kind", ["elect-leader", "reassign", "remove-broker"])
def test_the_tools_of_the_release_are_fetched(kind: str, fetched: list[str]) -> None:
    _prepare(kind, {}, version="4.1.2")

    assert fetched == ["fetch_tools 4.1.2"]


@pytest.mark.parametrize(
    ("version", "tools"), [("4.1.2", ["fetch 4.1.2", "fetch_tools 4.1.2"]), ("3.9.1", ["fetch 3.9.1"])]
)
def test_an_upgrade_fetches_the_tools_of_its_release_if_there_are_any(
    version: str, tools: list[str], fetched: list[str]
) -> None:
    _prepare("rolling-upgrade", {"version": version}, version="3.8.1")

    assert fetched == tools


def test_a_system_without_tools_of_its_own_needs_nothing() -> None:
    fault: Nemesis = plugins.load("nemesis", "elect-leader", "faults.inject")
    rabbitmq = system("rabbitmq", "system")
    assert isinstance(fault, Preparing)
    fault.prepare(rabbitmq, rabbitmq.options(), None)
