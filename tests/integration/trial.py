"""A fault on real hosts, step by step as the conductor takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from chaoskit.base.waiting import wait_until
from chaoskit.contract.faults.nemesis import Strike
from chaoskit.contract.hosts.host import ServiceHost

BUSY_S = 30
"""How long what surely comes may take: others may keep the machine busy."""


def sooner_or_later(is_so: Callable[[], bool]) -> bool:
    """Return whether a measurement gives what it must within half a minute: others may keep the machine busy."""
    return wait_until(is_so, BUSY_S)


@contextmanager
def fault(nemesis: Any, targets: Sequence[Any], cluster: Any, **parameters: Any) -> Iterator[str]:
    """Inject and prove a fault; give its evidence; heal and prove that, whatever the test does."""
    strike = strike_of(nemesis, targets, cluster, **parameters)
    try:
        nemesis.inject(strike)
        yield nemesis.verify(strike).sentence
    finally:
        nemesis.heal(strike)
        healed = nemesis.verify_healed(strike)
        nemesis.heal(strike)
    assert healed.sentence


def strike_of(nemesis: Any, targets: Sequence[Any], cluster: Any, name: str = "", **parameters: Any) -> Strike:
    """Return a strike that is not made yet."""
    return Strike(
        name=name or f"0-{type(nemesis).__name__.lower()}",
        hosts=targets if nemesis.hits == "hosts" else (),
        clients=targets if nemesis.hits == "clients" else (),
        service=cluster,
        lab=cluster.hosts if cluster else (),
        parameters=nemesis.parameters.model_validate(parameters),
        seed=7,
        resolve=lambda name: _hosts(cluster, name),
    )


def _hosts(cluster: Any, name: str) -> list[ServiceHost]:
    by_name = {host.name: host for host in cluster.hosts}
    if name == "all":
        return list(cluster.hosts)
    names = [name] if name in by_name else cluster.find(name, None)
    return [by_name[name] for name in names]
