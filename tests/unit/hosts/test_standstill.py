"""Whose processes stand still at a power cut; real hosts: tests/integration/test_power_cut.py."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from clusters.hosts import standstill
from clusters.hosts.standstill import stop_all

HOST, OTHERS = "pid:[2]", "pid:[1]"


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The signals that are sent, none of which arrives."""
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    return sent


def _in_namespaces(monkeypatch: pytest.MonkeyPatch, **namespaces: Any) -> None:
    of_process = {int(pid.removeprefix("p")): namespace for pid, namespace in namespaces.items()}
    monkeypatch.setattr(standstill, "_namespace", lambda pid: of_process.get(pid, OTHERS))


def test_those_of_the_host_are_stopped_but_for_servers_of_its_disks(
    monkeypatch: pytest.MonkeyPatch, signals: list[tuple[int, int]]
) -> None:
    parent = os.getppid()
    _in_namespaces(monkeypatch, p1=HOST, **{f"p{parent}": HOST})

    stop_all(1, without=())
    assert set(signals) == {(1, signal.SIGSTOP), (parent, signal.SIGSTOP)}
    signals.clear()
    stop_all(1, without={parent})
    assert signals == ([(1, signal.SIGSTOP)] if parent != 1 else [])


@pytest.mark.parametrize(
    "namespace", [None, OTHERS], ids=["it has exited", "its number is of a process of this machine"]
)
def test_without_a_host_nobody_is_stopped(
    monkeypatch: pytest.MonkeyPatch, signals: list[tuple[int, int]], namespace: str | None
) -> None:
    _in_namespaces(monkeypatch, p1=namespace)

    stop_all(1, without=())
    assert signals == []
