"""Adds to findings when the messages that they name were written.

A fault explains what it did to a message only if the message was written at a time that fits; `at_ns` of a finding may
be much later, for example when the final read noticed it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.contract.checkers.checker import Part

_UNKNOWN = -1

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Writes:
    """The values sent to a partition, ascending; when the first send of each began, and the last was acknowledged."""

    value: Ints
    written_ns: Ints
    acked_ns: Ints

    def of(self, values: pa.ChunkedArray) -> tuple[pa.Array, pa.Array]:
        """Return both times for each value; null if it is null or was not sent here, or not acknowledged."""
        wanted = values.fill_null(_UNKNOWN).to_numpy()
        if not self.value.size:
            nothing = pa.nulls(wanted.size, pa.int64())
            return nothing, nothing
        at = np.minimum(np.searchsorted(self.value, wanted), self.value.size - 1)
        sent = self.value[at] == wanted
        acked_ns = self.acked_ns[at]
        return pa.array(self.written_ns[at], mask=~sent), pa.array(acked_ns, mask=~sent | (acked_ns == _UNKNOWN))


def dated(part: Part, findings: pa.Table) -> pa.Table:
    """Return findings of a partition with the times of its writes filled in."""
    if not findings.num_rows:
        return findings
    writes = part.view(_writes)
    for prefix in ("", "other_"):
        for name, times in zip(("written_ns", "acked_ns"), writes.of(findings[f"{prefix}value"]), strict=True):
            findings = findings.set_column(
                findings.schema.get_field_index(prefix + name), findings.schema.field(prefix + name), times
            )
    return findings


def _writes(part: Part) -> _Writes:
    sent = part.messages.filter(pc.field("direction") == "sent")
    value, operations = sent["value"].to_numpy(), part.operations
    at = np.searchsorted(operations["op"].to_numpy(), sent["op"].to_numpy())
    start_ns = operations["start_ns"].to_numpy()[at]
    ok = pc.equal(operations["outcome"], "ok")
    acked_ns = pc.if_else(ok, operations["end_ns"], None).fill_null(_UNKNOWN).to_numpy()[at]
    order = np.argsort(value, kind="stable")
    distinct, first = np.unique(value[order], return_index=True)
    if not distinct.size:
        return _Writes(distinct, distinct, distinct)
    return _Writes(distinct, np.minimum.reduceat(start_ns[order], first), np.maximum.reduceat(acked_ns[order], first))
