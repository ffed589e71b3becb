"""A command whose connection failed closes that one, and not what another command uses since then."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clusters.hosts.ssh import SshHost


def _connection() -> Any:
    closed: list[str] = []
    client = SimpleNamespace(close=lambda: closed.append("client"))
    return SimpleNamespace(closed=closed, close=lambda: closed.append("connection"), client=client, gateway=None)


@pytest.fixture
def host(tmp_path: Path) -> Any:
    return SshHost("n1", "192.0.2.1", tmp_path / "key")


def test_what_failed_is_closed_and_forgotten(host: Any) -> None:
    host._connection = used = _connection()

    host._discard(used)

    assert used.closed == ["connection", "client"]
    assert host._connection is None


def test_what_was_opened_since_then_stays(host: Any) -> None:
    host._connection = since = _connection()
    used = _connection()

    host._discard(used)

    assert used.closed == ["connection", "client"]
    assert since.closed == []
    assert host._connection is since


def test_nothing_is_closed_if_none_could_be_opened(host: Any) -> None:
    host._discard(None)

    assert host._connection is None
