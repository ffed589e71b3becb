"""The fixed schema of a history (docs/history.md), and the names that its columns use.

All times are CLOCK_MONOTONIC nanoseconds since the start of the run.
"""

from __future__ import annotations

import pyarrow as pa

_TEXT = pa.dictionary(pa.int32(), pa.string())

OPERATIONS = pa.schema(
    [
        pa.field("op", pa.int64(), nullable=False),
        pa.field("process", pa.int32(), nullable=False),
        pa.field("client", _TEXT, nullable=False),
        pa.field("f", _TEXT, nullable=False),
        pa.field("start_ns", pa.int64(), nullable=False),
        pa.field("end_ns", pa.int64()),
        pa.field("outcome", _TEXT, nullable=False),
        pa.field("error", _TEXT),
        pa.field("txn", pa.int64()),
    ]
)
"""One row an operation, `op` counting from 0 in order of invocation. `end_ns` is null when the
operation never completed; its outcome is then `info`."""

MESSAGES = pa.schema(
    [
        pa.field("op", pa.int64(), nullable=False),
        pa.field("direction", _TEXT, nullable=False),
        pa.field("topic", _TEXT, nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("key", _TEXT),
        pa.field("value", pa.int64(), nullable=False),
        pa.field("position", pa.int64()),
        pa.field("intended_ns", pa.int64()),
        pa.field("sent_ns", pa.int64()),
        pa.field("received_ns", pa.int64()),
        pa.field("delivery", pa.int32()),
        pa.field("payload", _TEXT, nullable=False),
    ]
)
"""One row a message sent or received by an operation, in `op` order (within one poll: in the order
delivered). `position` of a sent message is the one that its acknowledgement named, if any."""

OBSERVATIONS = pa.schema(
    [
        pa.field("op", pa.int64(), nullable=False),
        pa.field("kind", _TEXT, nullable=False),
        pa.field("topic", _TEXT, nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("name", _TEXT),
        pa.field("value", pa.int64()),
        pa.field("position", pa.int64()),
    ]
)
"""One row a thing that an operation was told, or did, and that is no message, in `op` order.

| kind | told by | name | value | position |
|---|---|---|---|---|
| `committed` | `commit` | group | generation; null: not known | the next one to be read |
| `assigned` | `assign` | group | generation; null: not known | |
| `confirmed` | `create`, `open`, `lac` | | | one past the last confirmed entry of a ledger, as a reader was told |
| `ended` | `close`, `recover`, `lac` | | | one past the last entry of a ledger that has ended |
| `subscribed` | `subscribe` | subscription | index into `SUBSCRIPTION_TYPES` | |
| `acked`, `nacked` | `ack`, `nack` | subscription | | of the message that was settled |
"""

FAULTS = pa.schema(
    [
        pa.field("fault", pa.int64(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("targets", pa.list_(pa.string()), nullable=False),
        pa.field("parameters", pa.string(), nullable=False),
        pa.field("start_ns", pa.int64(), nullable=False),
        pa.field("effective_ns", pa.int64()),
        pa.field("heal_ns", pa.int64()),
        pa.field("healed_ns", pa.int64()),
        pa.field("evidence", pa.string(), nullable=False),
    ]
)
"""One row a fault. `effective_ns` and `healed_ns` are null unless the effect, or its end, was measured."""

DIRECTIONS = ("sent", "received")
KINDS = ("committed", "assigned", "confirmed", "ended", "subscribed", "acked", "nacked")
SUBSCRIPTION_TYPES = ("exclusive", "failover", "shared", "key-shared")
SENDING = ("send", "add")
"""Operations (`f`) that send one message; `add` sends it to a ledger."""

CARRYING = (*SENDING, "poll", "receive", "txn", "read", "lac")
"""Operations (`f`) that carry messages, or positions, in numbers; all others control what a client does. A `poll` reads
on, a `receive` takes what a subscription gives to one of its consumers."""

AUDITOR = "auditor"
"""The client of the final read."""

OUTCOMES = ("ok", "fail", "info")
OK, FAIL, INFO = range(3)
"""Outcome codes. `ok` it happened; `fail` it certainly did not; `info` nobody knows."""

DUPLICATE = "duplicate"
"""Error of a send that is ok, but that the system did not store again, as it had it already."""

PAYLOADS = ("ok", "corrupt", "foreign")
PRODUCER_SHIFT = 40
"""`value` = producer << 40 | sequence."""
