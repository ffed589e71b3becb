"""The fixed schema of a history (docs/history.md).

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
"""One row per operation; `op` counts from 0 in order of invocation. `end_ns` is null if the operation
never completed; its outcome is then `info`."""

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
"""One row per message sent or received by an operation, in `op` order (within one poll: in delivery
order). For a sent message, `position` is the one reported by its acknowledgement, if any."""

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
"""One row per observation: something that an operation learned or did, other than a message. In `op` order. What
`name`, `value` and `position` mean for each kind stands in its record in `chaoskit.model.observations`."""

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
"""One row per fault. `effective_ns` and `healed_ns` are null unless the effect, or its end, was measured."""

PLACEMENTS = pa.schema(
    [
        pa.field("at_ns", pa.int64(), nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("host", pa.string(), nullable=False),
        pa.field("role", pa.string(), nullable=False),
        pa.field("epoch", pa.int64()),
    ]
)
"""One row per host and role of a partition, whenever its placement changed, in order of time. Roles: `leader` leads or
owns it, `replica` stores it, `in-sync` is a replica that takes part in new writes. `epoch` is that of the leader; null
where the system has none, and in runs of before it was recorded. The rows with one `at_ns` hold together until the
partition's next ones."""
