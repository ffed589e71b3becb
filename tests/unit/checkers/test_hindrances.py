"""Which faults excuse silence, and when."""

from __future__ import annotations

import pyarrow as pa
import pytest

from chaoskit.contract.checkers.checker import FaultWindow, PartitionSetting
from chaoskit.history.compacting.placements import Placements
from chaoskit.history.format.fault import Fault
from chaoskit.judge.findings.windows import windows
from chaoskit.model.tables import PLACEMENTS
from checkers.delivery.hindrances import calm, hindering

P = ("log-0", 0)


def window(start_ns: int = 10, healed_ns: int | None = 20, **more: object) -> FaultWindow:
    return FaultWindow(0, "kill", start_ns, start_ns, healed_ns, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fault", "direct", "expected"),
    [
        (window(), True, True),
        (window(delays=False), False, False),
        (window(elsewhere=True), True, False),
        (window(elsewhere=True), False, True),
        (window(on_hosts=False, targets=("c",)), True, True),
        (window(on_hosts=False, targets=("d",)), False, False),
        (window(on_hosts=False), False, True),
    ],
)
def test_which_faults_may_keep_messages_from_a_client(fault: FaultWindow, direct: bool, expected: bool) -> None:
    assert bool(hindering(PartitionSetting(*P, faults=(fault,)), {"c"}, direct=direct)) == expected


@pytest.mark.parametrize(
    ("faults", "left"),
    [
        ([], [(0, 100)]),
        ([window()], [(0, 10), (25, 100)]),
        ([window(0, 97)], []),
        ([window(10, None)], [(0, 10)]),
        ([window(10, 20), window(22, 30)], [(0, 10), (35, 100)]),
        ([window(200, 300)], [(0, 100)]),
    ],
)
def test_what_is_left_of_an_interval(faults: list[FaultWindow], left: list[tuple[int, int]]) -> None:
    assert calm(faults, 0, 100, 5) == left


def placements(storing: dict[str, int]) -> Placements:
    """Hosts, and the partition that each leads."""
    rows = [
        {"at_ns": 0, "topic": "log-0", "partition": number, "host": host, "role": role}
        for host, number in storing.items()
        for role in ("leader", "replica")
    ]
    return Placements(pa.Table.from_pylist(rows, PLACEMENTS))


STORING = {"n1": 0, "n2": 1, "n3": 2, "n4": 3}


def of(*faults: tuple[str, tuple[str, ...]], storing: dict[str, int] = STORING) -> list[bool]:
    """Return for each fault, of all at once, whether it is elsewhere than the partition of n1."""
    recorded = [Fault(number, kind, 10, targets=on, healed_ns=20) for number, (kind, on) in enumerate(faults)]
    return [one.elsewhere for one in windows(recorded, placements(storing), [P], 5)[P]]


def test_a_fault_on_a_host_of_other_partitions_is_elsewhere() -> None:
    assert of(("kill", ("n2",))) == [True]


def test_a_fault_may_concern_a_partition_when_in_doubt() -> None:
    assert of(("kill", ("n1",))) == [False]
    assert of(("kill", ("n2", "n3"))) == [False], "half of the hosts"
    assert of(("kill", ("n2",)), ("kill", ("n3",))) == [False, False], "half of the hosts together"
    assert of(("partition", ("n2",))) == [False], "a link"
    assert of(("kill", ("n2",)), ("partition", ("n3",))) == [False, False], "a link at the same time"
    assert of(("kill", ("n9",))) == [False], "a host that stores nothing"
    assert of(("unheard-of", ("n2",))) == [False], "a kind that is not installed"
    assert of(("kill", ("n2",)), storing={"n2": 1, "n3": 2, "n4": 3}) == [False], "nobody recorded who led it"
    assert of(("kill", ())) == [False], "it hit nobody that is known"


def test_a_fault_knows_whether_it_delays_and_whom() -> None:
    recorded = [
        Fault(0, "clock-jump", 10, parameters={"by": "1h"}, targets=("n1",)),
        Fault(1, "client-pause", 10, targets=("consumer-0",)),
    ]
    clock, client = windows(recorded, placements(STORING), [P], 5)[P]

    assert (clock.delays, clock.on_hosts, client.delays, client.on_hosts) == (False, True, True, False)
    assert client.targets == ("consumer-0",)
