"""More clients than there is memory for are refused before anything starts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from samples import plan

from chaoskit.base.errors import BadInput
from chaoskit.scenario import machine
from chaoskit.scenario.plan import Plan


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has 1 GiB of memory left, and can do everything."""
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=2**30))


def _plan(**workload: Any) -> Plan:
    return plan(workload={"kind": "log", "duration": "20s", **workload})


@pytest.mark.usefixtures("checked")
def test_too_many_clients_are_refused() -> None:
    with pytest.raises(
        BadInput, match=r"workload: 26 clients need 1\.0 GiB of memory, 1\.0 GiB are available; use fewer"
    ):
        machine._check_memory(_plan(producers=20, consumers=6))
    machine._check_memory(_plan(producers=20, consumers=5))
