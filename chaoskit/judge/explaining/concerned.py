"""Which clients a finding concerns, and when they were back after an interruption."""

from __future__ import annotations

import numpy as np

from chaoskit.contract.guarantees.guarantee import FOREVER
from chaoskit.judge.explaining.cases import Cases
from chaoskit.judge.explaining.links import LinkInterruption
from chaoskit.judge.explaining.record import NONE, Ints, Record
from chaoskit.model.place import Place


def lacking(record: Record, cases: Cases) -> list[tuple[str, Ints]]:
    """Return each client with the findings that concern it: who lacks a message, or else received it."""
    rows, ops = np.arange(cases.size), np.where(cases.other_op != NONE, cases.other_op, cases.op)
    if cases.also is not None:
        lengths = cases.also.value_lengths().fill_null(0).to_numpy()
        rows = np.concatenate([rows, np.repeat(np.arange(cases.size), lengths)])
        ops = np.concatenate([ops, cases.also.flatten().to_numpy()])
    codes = np.unique(ops)
    names = record.clients_of(codes)
    index = np.searchsorted(codes, ops)
    chosen = {name: np.array([other == name for other in names], np.bool_)[index] for name in sorted(set(names))}
    return [(name, np.unique(rows[of_it])) for name, of_it in chosen.items()]


def back_ns(record: Record, place: Place, client: str, gap: LinkInterruption) -> int:
    """Return until when a client may have been away because of an interruption of its own: until just before it next
    received something."""
    receipts = record.receipts(place).get(client)
    if receipts is None or gap.until_ns == FOREVER or gap.effect.on_hosts:
        return gap.until_ns
    later = receipts.at_ns[receipts.at_ns >= gap.until_ns]
    return max(int(later.min()) - 1, gap.until_ns) if later.size else gap.until_ns
