"""The names of operations (`f` of a history) that mean something to those who read it."""

from __future__ import annotations

SENDING = ("send", "add", "delete")
"""Operations that send one message; `add` sends it to a ledger, and `delete` deletes its key: it has no content."""

SEND, DELETE = SENDING.index("send"), SENDING.index("delete")

CARRYING = (*SENDING, "poll", "receive", "txn", "read", "lac")
"""Frequent operations, which carry messages or positions; all others control a client. A `poll` reads the next
messages; a `receive` gets what a subscription delivers to one of its consumers."""

ASKING = ("poll", "receive")
"""Operations with which a client asks for messages that are delivered to it."""

REPOSITIONING = ("assign", "subscribe", "seek", "replay", "open", "recover")
"""Operations after which a consumer may be anywhere in the log; a `replay` only in partitions that it sought."""

SEEKING = ("seek", "replay")
"""Those of them with which a consumer chooses another position by itself."""

AUDITOR = "auditor"
"""The client of the final read."""
