"""What is found whatever the clocks of several machines really showed.

Clients on one machine share a clock, so the order of what they did is known. Between two machines it is known up to the
error with which their clocks were compared. So everything is checked again with each machine's times moved to both ends
of that error, operations and receipts alike, and only what is found every time is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.contract.checkers.checker import Part

_SAME = ("anomaly", "value", "position", "op")
"""What two findings of one partition have in common if they are about the same."""


def certain(part: Part, check: Callable[[Part], pa.Table]) -> pa.Table:
    """Return what a check finds in a partition whatever the clocks showed.

    Args:
        part: the partition.
        check: returns findings.
    """
    findings = check(part)
    for other in _moved(part) if findings.num_rows else ():
        again = set(_keys(check(other)))
        findings = findings.filter(pa.array([key in again for key in _keys(findings)], pa.bool_()))
    return findings


def _moved(part: Part) -> Iterator[Part]:
    """Yield the partition with the times of each machine moved back and forth."""
    error_ns = part.setting.apart_ns
    for clients in part.setting.clocks if error_ns else ():
        for by_ns in (-error_ns, error_ns):
            yield _with_times(part, clients, by_ns)


def _with_times(part: Part, clients: Collection[str], by_ns: int) -> Part:
    operations, messages = part.operations, part.messages
    names = pc.list_element(pc.split_pattern(operations["client"].cast(pa.string()), "#"), 0)
    own = pc.is_in(names, value_set=pa.array(sorted(clients), pa.string())).to_numpy()
    row = np.searchsorted(operations["op"].to_numpy(), messages["op"].to_numpy())
    for name in ("start_ns", "end_ns"):
        operations = _shifted(operations, name, own * by_ns)
    messages = _shifted(messages, "received_ns", own[row] * by_ns)
    return replace(part, operations=operations, messages=messages, _views={})


def _shifted(table: pa.Table, name: str, by_ns: Any) -> pa.Table:
    moved = pc.add(table[name], pa.array(by_ns, pa.int64()))
    return table.set_column(table.schema.get_field_index(name), table.field(name), moved)


def _keys(findings: pa.Table) -> Iterator[tuple[Any, ...]]:
    return zip(*(findings[name].to_pylist() for name in _SAME), strict=True)
