"""Records operations on ledgers: a partition is a ledger, a position is an entry id."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.clients.ledger import Entry
from chaoskit.contract.clients.recorder import Recorder
from chaoskit.model.message import Delivery
from chaoskit.model.observations.ledger import LedgerConfirmed, LedgerEnded
from chaoskit.model.operation import SENDING
from workloads.ledger.options import TOPIC

ADD = SENDING.index("add")


def stands(recorder: Recorder, op: int, ledger: int, position: int, *, ended: bool) -> None:
    """Record the confirmed position of a ledger, or its end."""
    stand = LedgerEnded(position) if ended else LedgerConfirmed(position)
    recorder.observe(op, recorder.in_system(TOPIC), ledger, stand)


def received(recorder: Recorder, op: int, ledger: int, entries: Sequence[Entry]) -> None:
    """Record entries that were read."""
    topic = recorder.in_system(TOPIC)
    recorder.received(op, [Delivery(topic, ledger, None, content, position, None) for position, content in entries])
