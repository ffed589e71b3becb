"""Seats: which client runs where, and when it begins again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from samples import content

from chaoskit.base.errors import BadInput, ChaoskitError
from chaoskit.base.waiting import wait_until
from chaoskit.run.seats import Seats
from chaoskit.scenario.plan import read_plan


class Host:
    def __init__(self, name: str) -> None:
        self.name = name
        self.lit = True

    def reachable(self, timeout_s: float = 1) -> bool:
        return self.lit


class Client:
    """A client that died with its host, and begins again after so many errors."""

    def __init__(self, seat: Any, errors: Iterable[str] = ()) -> None:
        self.seat = seat
        self.errors = list(errors)
        self.dead = True
        self.started = 0

    def died_with_host(self) -> bool:
        return self.dead

    def start_next(self) -> None:
        if self.errors:
            raise ChaoskitError(self.errors.pop(0))
        self.dead = False
        self.started += 1


def test_clients_take_seats_in_turn() -> None:
    hosts: list[Any] = [Host("n2"), Host("n3")]
    first, second = hosts
    seats = Seats(hosts)

    assert [seats.next() for _ in range(3)] == [first, second, first]
    assert Seats(()).next() is None


def test_a_client_begins_again_once_its_host_has_power() -> None:
    host = Host("n2")
    host.lit = False
    seated, here = Client(host), Client(None)
    seats = Seats([host])  # type: ignore[list-item]
    seats.attend([seated, here])
    assert not wait_until(lambda: seated.started > 0, 0.5)
    host.lit = True

    assert wait_until(lambda: seated.started == 1, 30)
    seats.close()
    assert here.started == 0, "one that runs here did not die with a host"


def test_a_client_that_does_not_come_back_is_a_problem_of_the_run() -> None:
    host = Host("n2")
    client = Client(host, ["client consumer-0 did not start"] * 1000)
    seats = Seats([host])  # type: ignore[list-item]
    seats.attend([client])

    assert wait_until(lambda: len(client.errors) < 998, 30), "it is tried again"
    seats.close()
    assert seats.problems == ["client consumer-0 did not start"]


def test_a_client_that_comes_back_at_the_second_try_is_no_problem() -> None:
    host = Host("n2")
    client = Client(host, ["its host has power, its broker does not answer"])
    seats = Seats([host])  # type: ignore[list-item]
    seats.attend([client])

    assert wait_until(lambda: client.started == 1, 30)
    seats.close()
    assert seats.problems == []


def test_hosts_of_seats_come_last_and_are_hit_by_name_alone() -> None:
    faults = [{"at": "1s", "inject": "kill", "on": "all"}, {"at": "2s", "inject": "power-cut", "on": "n5"}]
    plan = read_plan(content(cluster={"system": "kafka", "hosts": 3, "seats": 2}, faults=faults), "small.yaml")

    assert plan.host_names == ["n1", "n2", "n3", "n4", "n5"]
    assert [fault.on for fault in plan.faults] == [("n1", "n2", "n3"), ("n5",)]


@pytest.mark.parametrize(
    ("cluster", "why"),
    [
        ({"hosts": 0}, "cluster.hosts: must be at least 1 (given: 0); kafka runs on hosts"),
        ({"seats": 1, "attach": {"bootstrap.servers": "k:9092"}}, "seats are hosts of a lab"),
        ({"seats": -1}, "cluster.seats: must be at least 0"),
    ],
)
def test_seats_that_cannot_be_are_refused(cluster: dict[str, Any], why: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_plan(content(cluster={"system": "kafka", **cluster}), "small.yaml")

    assert why in str(refused.value)
