"""Commands share a connection: one that fails leaves it, and takes it from nobody else."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from clusters.hosts.connection import SharedConnection


class Connections(list[Any]):
    """All that were opened."""

    def open(self) -> Any:
        connection = SimpleNamespace(is_connected=True, gateway=None, transport=SimpleNamespace(sock=None), closed=0)

        def close() -> None:
            connection.closed += 1

        connection.close, connection.client = close, SimpleNamespace(close=lambda: None)
        self.append(connection)
        return connection


@pytest.fixture
def opened() -> Connections:
    return Connections()


@pytest.fixture
def shared(opened: Connections) -> SharedConnection:
    return SharedConnection(opened.open)


def _fail(shared: SharedConnection) -> None:
    with pytest.raises(TimeoutError), shared.transport():
        raise TimeoutError


def test_commands_share_one(shared: SharedConnection, opened: Connections) -> None:
    with shared.transport() as first, shared.transport() as second:
        assert first is second
    with shared.transport() as third:
        assert third is first
    assert [connection.closed for connection in opened] == [0]


def test_what_failed_is_closed_and_not_used_again(shared: SharedConnection, opened: Connections) -> None:
    _fail(shared)
    with shared.transport():
        assert [connection.closed for connection in opened] == [1, 0]


def test_a_command_that_fails_ends_no_other(shared: SharedConnection, opened: Connections) -> None:
    with shared.transport():
        _fail(shared)
        assert opened[0].closed == 0
        with shared.transport():
            assert len(opened) == 2
    assert [connection.closed for connection in opened] == [1, 0]


def test_what_the_other_end_closed_is_replaced(shared: SharedConnection, opened: Connections) -> None:
    with shared.transport():
        pass
    opened[0].is_connected = False
    with shared.transport():
        assert [connection.closed for connection in opened] == [1, 0]


def test_what_was_opened_before_all_were_closed_is_not_used(opened: Connections) -> None:
    def open_while_power_is_cut() -> Any:
        connection = opened.open()
        if len(opened) == 1:
            late.close()
        return connection

    late = SharedConnection(open_while_power_is_cut)
    with late.transport() as transport:
        assert transport is opened[1].transport
    assert [connection.closed for connection in opened] == [1, 0]


def test_closing_ends_it_whoever_uses_it(shared: SharedConnection, opened: Connections) -> None:
    with shared.transport():
        shared.close()
        assert opened[0].closed == 1
    with shared.transport():
        assert len(opened) == 2
