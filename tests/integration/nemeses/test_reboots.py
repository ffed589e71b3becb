"""What a fault left in the memory of a real host is gone after a boot; it is made again, proved again, and healed."""

from __future__ import annotations

from typing import Any

import pytest
from echo import EchoCluster
from scratch import Make
from trial import strike_of

from chaoskit.base import plugins
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, Strike
from chaoskit.contract.hosts.host import PowerSwitch
from chaoskit.contract.systems.installation import Installation

KINDS = [
    ("partition", {}),
    ("packet-loss", {"percent": 50}),
    ("packet-delay", {"delay": "50ms"}),
    ("bandwidth", {"rate": "1MB"}),
    ("disk-full", {}),
    ("disk-slow", {"write_bandwidth": "1MB"}),
    ("cpu-starve", {"cores": 0.3}),
    ("memory-pressure", {"leave": "32MiB"}),
]
LOST = ("partition", "packet-loss", "packet-delay", "bandwidth")


@pytest.mark.parametrize(("kind", "parameters"), KINDS, ids=[kind for kind, _ in KINDS])
def test_a_fault_is_made_again_after_a_boot(make_echo: Make, kind: str, parameters: dict[str, Any]) -> None:
    nemesis: Nemesis = plugins.load("nemesis", kind, "faults.inject")
    assert nemesis.renews
    cluster = make_echo(2)
    strike = strike_of(nemesis, cluster.hosts[:1], cluster, name=f"0-{kind}", **parameters)
    nemesis.inject(strike)
    nemesis.verify(strike)

    _reboot(cluster)
    if kind in LOST:
        with pytest.raises(NemesisError):
            nemesis.verify(strike)
    nemesis.renew(strike, nemesis.carriers(strike))

    assert nemesis.verify(strike)
    nemesis.heal(strike)
    assert nemesis.verify_healed(strike)


@pytest.mark.parametrize("kind", ["partition", "disk-full", "cpu-starve", "kill"])
def test_a_fault_whose_ground_is_gone_is_healed(make_echo: Make, kind: str) -> None:
    nemesis: Nemesis = plugins.load("nemesis", kind, "faults.inject")
    cluster = make_echo(2)
    strike: Strike = strike_of(nemesis, cluster.hosts[:1], cluster, name=f"0-{kind}")
    nemesis.inject(strike)

    _reboot(cluster)

    nemesis.heal(strike)
    assert nemesis.verify_healed(strike)


def _reboot(cluster: EchoCluster) -> None:
    host = cluster.hosts[0]
    boots = host.power(PowerSwitch).boots
    host.power(PowerSwitch).power_cut()
    host.power(PowerSwitch).power_on()
    assert host.power(PowerSwitch).boots == boots + 1
    cluster.power(Installation).start(host)
