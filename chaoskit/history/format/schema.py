"""The fixed schema of a history (docs/history.md) and the values of its columns.

All times are CLOCK_MONOTONIC nanoseconds since the start of the run.
"""

from __future__ import annotations

from enum import IntEnum

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
"""One row per observation: something that an operation learned or did, other than a message. In `op` order.

| kind | operation | name | value | position |
|---|---|---|---|---|
| `committed` | `commit` | group | generation; null: unknown | the next one to read |
| `assigned` | `assign` | group | generation; null: unknown | |
| `confirmed` | `create`, `open`, `lac` | | | one past the last confirmed entry of a ledger, as reported to a reader |
| `ended` | `close`, `recover`, `lac` | | | one past the last entry of a closed ledger |
| `subscribed` | `subscribe` | subscription; null: a queue | index into `SUBSCRIPTION_TYPES`, of a subscription | |
| `subscribed`, `unsubscribed` | `subscribe`, `unsubscribe` | promise, of a feed | 1: it is lasting | N kept |
| `reading` | `assign` | | | |
| `sought` | `replay` | `time` or `position`: how | ns back | where it must be at the latest; null: unknown |
| `cancelled` | `receive` | | | |
| `acked`, `nacked`, `rejected` | `ack`, `nack`, `reject` | subscription | value, in a queue | position, in a log |
| `declared` | `declare` | a setting of a queue, one of `QUEUE_SETTINGS` | | its number |
| `prioritised` | `send` | | value | priority of the message |
| `dead-lettered` | `receive` | reason, such as those of `DEAD_LETTER_REASONS` | value | times it was, as told |
| `depth` | `audit` | | | messages that are ready in the queue, as the system reports |

`reading`: a reader that is in no group was told to read the partition. `cancelled`: the system ended a consumer.
`nacked` asks for redelivery, `rejected` does not. A `dead-lettered` message belongs to the queue that it was sent to,
and was received from the queue of that one's dead letters.
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

LEADER, REPLICA, IN_SYNC = "leader", "replica", "in-sync"

DIRECTIONS = ("sent", "received")
KINDS = (
    "committed", "assigned", "confirmed", "ended", "subscribed", "acked", "nacked", "unreadable", "declared",
    "prioritised", "rejected", "dead-lettered", "depth", "reading", "cancelled", "unsubscribed", "sought",
)  # fmt: skip
QUEUE_SETTINGS = (
    "message-ttl", "delay", "max-length", "delivery-limit", "priorities", "prefetch", "single-active", "dead-letters",
    "dead-letters-of", "unrouted", "nacks-free",
)  # fmt: skip
"""What a queue can be declared with, or has by itself; times are in ms. `message-ttl`: how long messages live. `delay`:
time from publish to delivery. `max-length`: messages that are kept; the oldest are dropped. `delivery-limit`: number
of returns at which a message is dead-lettered. `priorities`: number of levels. `prefetch`: unsettled deliveries of
each consumer. `single-active` (1): one consumer at a time. `dead-letters` (1): what is dropped goes to another
queue. `dead-letters-of` (1): this is that queue. `unrouted` (1): no queue is bound to this routing key. `nacks-free`
(1): what a consumer returns does not count towards the delivery limit."""

DEAD_LETTER_REASONS = ("rejected", "expired", "maxlen", "delivery_limit")
"""Why a message was dead-lettered: rejected by a consumer, expired, or over a limit of length or of returns."""

OTHER_QUEUE = "other-queue"
"""The reason of a dead letter that, as told, was in another queue than the one that it was sent to."""

SUBSCRIPTION_TYPES = ("exclusive", "failover", "shared", "key-shared")
SENDING = ("send", "add")
"""Operations (`f`) that send one message; `add` sends it to a ledger."""

CARRYING = (*SENDING, "poll", "receive", "txn", "read", "lac")
"""Frequent operations (`f`), which carry messages or positions; all others control a client. A `poll` reads the next
messages; a `receive` gets what a subscription delivers to one of its consumers."""

ASKING = ("poll", "receive")
"""Operations (`f`) with which a client asks for messages that are delivered to it."""

REPOSITIONING = ("assign", "subscribe", "seek", "replay", "open", "recover")
"""Operations (`f`) after which a consumer may be anywhere in the log; a `replay` only in partitions that it sought."""

SEEKING = ("seek", "replay")
"""Those of them with which a consumer chooses another position by itself."""

AUDITOR = "auditor"
"""The client of the final read."""


class Outcome(IntEnum):
    """How an operation ended. `OK`: it happened. `FAIL`: it definitely did not happen. `INFO`: nobody knows."""

    OK = 0
    FAIL = 1
    INFO = 2


OK, FAIL, INFO = Outcome
OUTCOMES = tuple(outcome.name.lower() for outcome in Outcome)
"""Their names in a history, by code."""

DUPLICATE = "duplicate"
"""Error of an ok send that the system did not store again because it is a duplicate."""

PAYLOADS = ("ok", "corrupt", "foreign")
PRODUCER_SHIFT = 40
"""`value` = producer << 40 | sequence."""
