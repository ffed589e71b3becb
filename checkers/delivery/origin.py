"""Messages with a wrong origin, and messages that did not arrive as they were sent.

Within one partition, a message that was never sent cannot be distinguished from one that was sent elsewhere. Both are
first reported as a phantom that was not sent here; `settle` decides after these few values were looked up in the sends
of all partitions.

Cost: O(n) time, one byte per message.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.columns import Flags, is_one_of
from chaoskit.contract.checkers.anomaly import About, Anomaly
from chaoskit.contract.checkers.checker import FINDINGS
from checkers.arrays.columns import distinct
from checkers.arrays.findings import findings_of
from checkers.arrays.models import SENT
from checkers.arrays.rows import DAMAGED, FOREIGN, INTACT
from checkers.arrays.view import LogView

NOT_SENT_HERE = "not sent to this partition"
FROM_ANOTHER_RUN = "from another run"
SENT_BY_NOBODY = "never sent"
PHANTOM_DETAILS = (NOT_SENT_HERE, FROM_ANOTHER_RUN)

SENDS = pa.schema(
    [
        pa.field("value", pa.int64()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("op", pa.int64()),
    ]
)
"""Result of looking up values in other partitions: which operation sent them, and where."""


PHANTOM = Anomaly("phantom", "a message was received that was never sent", SENT)


def phantom_cases(view: LogView) -> pa.Table:
    """Find received messages that were not sent to this partition in this run.

    Jepsen calls some of these unknown. One finding per position and value. Evidence: `op` and `at_ns` are the first
    receive.
    """
    payload = view.receives.payload
    strange = payload == FOREIGN
    strange[payload == INTACT] = ~view.sent[view.intact_values]
    return _received(view, PHANTOM, strange, PHANTOM_DETAILS)


CORRUPT = Anomaly("corrupt", "a received message was damaged", SENT, about=About.READING)


def corrupt_cases(view: LogView) -> pa.Table:
    """Find messages whose header or checksum does not match.

    One finding per position and value (if the header could be read). Evidence: `op` and `at_ns` are the first receive.
    """
    return _received(view, CORRUPT, view.receives.payload == DAMAGED, ())


def unsettled(findings: pa.Table) -> pa.Array:
    """Return for each finding whether it is a phantom that may have been sent elsewhere."""
    return pa.array(is_one_of(findings["detail"], [NOT_SENT_HERE]))


def sends_of(messages: pa.Table, values: pa.Array) -> pa.Table:
    """Return value, topic, partition and op of the sends of these values."""
    wanted = pc.is_in(messages["value"], value_set=values.cast(pa.int64()))
    sends = messages.filter(wanted).select(["value", "topic", "partition", "op", "direction"])
    sends = sends.filter(pa.array(is_one_of(sends["direction"], ["sent"]))).drop_columns("direction")
    return sends.cast(SENDS)


MISROUTED = Anomaly("misrouted", "a message was received from a different topic or partition than it was sent to", SENT)


def settled(findings: pa.Table, sends: pa.Table) -> pa.Table:
    """Decide for each unsettled phantom whether it is a misrouted message or was never sent.

    Misrouted: received from a different topic or partition than it was sent to. Evidence: as for the phantom, and
    `other_op` sent it. If a value was sent several times, the first send by topic, partition and op is reported.
    """
    sends = sends.cast(SENDS).sort_by([(name, "ascending") for name in SENDS.names])
    send = pc.index_in(findings["value"], value_set=sends["value"].combine_chunks())
    phantom = unsettled(findings)
    misrouted = pc.and_(phantom, pc.is_valid(send))
    place = pc.binary_join_element_wise(sends["topic"], sends["partition"].cast(pa.string()), "/")
    sent_to = pc.binary_join_element_wise("sent to", place, " ").take(send)
    detail = pc.if_else(phantom, pc.coalesce(sent_to, SENT_BY_NOBODY), findings["detail"].cast(pa.string()))
    columns = {
        "anomaly": pc.if_else(misrouted, MISROUTED.name, findings["anomaly"].cast(pa.string())),
        "other_op": pc.if_else(misrouted, sends["op"].take(send), findings["other_op"]),
        "detail": detail,
    }
    for name, column in columns.items():
        encoded = column.cast(FINDINGS.field(name).type)
        findings = findings.set_column(FINDINGS.names.index(name), FINDINGS.field(name), encoded)
    return findings


class SettlesPhantoms:
    """The power `Settling`: phantoms that may have been sent elsewhere are looked up there."""

    def open_values(self, findings: pa.Table) -> pa.Array:
        """Return the distinct values of phantoms that may have been sent elsewhere."""
        return pc.unique(findings["value"].filter(unsettled(findings))).sort()

    def sent_here(self, messages: pa.Table, values: pa.Array) -> pa.Table:
        """Return value, topic, partition and op of the values that were sent here."""
        return sends_of(messages, values)

    def settle(self, findings: pa.Table, found: pa.Table) -> pa.Table:
        """Return the findings with every open phantom decided: misrouted or never sent."""
        return settled(findings, found)


def _received(view: LogView, anomaly: Anomaly, chosen: Flags, details: Sequence[str]) -> pa.Table:
    """Report the chosen receives; only the first for each position, value and payload."""
    receives = view.receives.take(np.flatnonzero(chosen))
    receives = receives.take(distinct(receives.position, receives.value, receives.payload))
    return findings_of(
        view.setting,
        anomaly,
        details=details,
        detail=np.where(receives.payload == FOREIGN, 1, 0),
        value=receives.value,
        position=receives.position,
        op=view.operations.op[receives.operation],
        at_ns=receives.received_ns,
    )
