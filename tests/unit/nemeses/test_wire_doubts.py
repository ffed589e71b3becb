"""What passes a tap untouched is told: when its process has ended, and when it cannot read a connection."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from chaoskit.contract.faults.nemesis import NemesisError
from nemeses.wire import fault, placing
from nemeses.wire.fault import WireFault, WireParameters

KNOWN = {
    "rule": {"matched": 4, "done": 1, "hits": [[7, 3_250_000_000, [1, 40, 40]]], "tally": {}},
    "rules": [],
    "unread": 0,
}


def _struck(
    report: dict[str, Any] | None, monkeypatch: pytest.MonkeyPatch, *, boots: int = 1, dark: bool = False
) -> Any:
    """Return a strike on a host whose tap tells this; None: there is none."""
    monkeypatch.setattr(placing, "call", lambda *_: report)
    monkeypatch.setattr(fault, "check_held", lambda _: None)
    monkeypatch.setattr(fault, "_boots", lambda _: 1)
    doubts: list[Any] = []
    placed = fault._Placed(boots={"n1": boots})
    return SimpleNamespace(
        hosts=[SimpleNamespace(name="n1")],
        name="1-wire",
        parameters=WireParameters(message="Produce", then="drop"),
        doubt=doubts.append,
        doubts=doubts,
        is_dark=lambda _: dark,
        kept=lambda _: placed,
    )


@pytest.mark.parametrize("report", [None, {**KNOWN, "rule": None}], ids=["no tap", "another one"])
def test_a_tap_that_has_ended_is_no_effect_and_a_doubt(
    report: dict[str, Any] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    strike = _struck(report, monkeypatch)

    with pytest.raises(NemesisError, match=r"the tap on n1 has ended; its log was .*/tap\.log"):
        WireFault().verify(strike)
    WireFault().verify_healed(strike)
    assert [doubt.consequence for doubt in strike.doubts] == ["messages passed untouched"]


def test_a_boot_ends_a_tap_without_a_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    strike = _struck(None, monkeypatch, boots=0)

    WireFault().verify_healed(strike)
    assert strike.doubts == []


def test_connections_that_are_in_another_protocol_are_a_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    strike = _struck({**KNOWN, "unread": 2}, monkeypatch)

    WireFault().verify_healed(strike)
    (doubt,) = strike.doubts
    assert doubt.event == "2 connections with n1 did not use the protocol that its tap reads"


def test_a_tap_that_does_its_work_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    strike = _struck(KNOWN, monkeypatch)

    assert (
        WireFault().verify(strike).sentence
        == "so far n1: 1 of 4 Produce requests dropped (correlation ids 7 with value 40)"
    )
    strike.kept(fault._Placed).began_ns = 3_000_000_000
    assert WireFault().verify(strike).sentence.endswith("dropped (correlation ids 7 with value 40 after 0.250 s)")
    WireFault().verify_healed(strike)
    assert strike.doubts == []


def test_a_host_without_power_has_no_tap_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    strike = _struck(None, monkeypatch, dark=True)
    monkeypatch.setattr(fault, "_EFFECT_S", 0.01)

    with pytest.raises(NemesisError, match="the rule was applied to no message"):
        WireFault().verify(strike)


def test_a_rule_that_is_still_in_effect_is_not_healed(monkeypatch: pytest.MonkeyPatch) -> None:
    strike = _struck({**KNOWN, "rules": ["1-wire"]}, monkeypatch)

    with pytest.raises(NemesisError, match="the rule is still in effect on n1"):
        WireFault().verify_healed(strike)
