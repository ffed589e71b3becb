"""What an attached cluster tells of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.contract.systems.node import Node
from clusters.kafka.deploy import attached
from clusters.kafka.settings import KafkaOptions

LEVELS = {"eligible.leader.replicas.version": 1, "transaction.version": 2, "metadata.version": 20}


class _Reporter:
    """Stands for one that asks the brokers for their settings."""

    def __init__(self, *_: object) -> None: ...

    def settings_in_effect(self) -> Mapping[str, Mapping[str, str]]:
        return {"broker n1": {"min.insync.replicas": "1"}}


def _observed(monkeypatch: pytest.MonkeyPatch, levels: dict[str, int] | None, **options: Any) -> dict[str, int]:
    def features(*_: object) -> dict[str, int]:
        if levels is None:
            raise OSError
        return levels

    monkeypatch.setattr(attached, "Reporter", _Reporter)
    monkeypatch.setattr(attached, "connect", lambda *_: None)
    monkeypatch.setattr(attached, "_nodes", lambda *_: [Node("n1", "k1:9092", "1")])
    monkeypatch.setattr(attached, "features", features)
    given = KafkaOptions(**{"version": "4.1.1", **options})
    return attached.observe({"bootstrap.servers": "k1:9092"}, 1, given).features


@pytest.mark.parametrize(
    ("levels", "eligible", "transactions"),
    [
        (LEVELS, 1, 2),
        ({"metadata.version": 20}, 0, 0),  # upgraded, and the features were left as they were
        (None, 0, 0),  # it does not say
    ],
)
def test_the_levels_of_features_are_those_that_the_brokers_tell(
    levels: dict[str, int] | None, eligible: int, transactions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _observed(monkeypatch, levels) == {
        "eligible.leader.replicas.version": eligible,
        "transaction.version": transactions,
    }


def test_a_declared_level_must_be_the_one_that_the_brokers_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = {"features": {"transaction.version": 1}}

    assert _observed(monkeypatch, None, **declared)["transaction.version"] == 1
    assert _observed(monkeypatch, {"transaction.version": 1}, **declared)["transaction.version"] == 1
    with pytest.raises(BadInput, match=r"cluster.features.transaction.version: the cluster has level 2, not 1"):
        _observed(monkeypatch, LEVELS, **declared)
