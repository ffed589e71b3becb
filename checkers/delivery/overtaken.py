"""Messages that a client received after a later one of the same producer.

Cost: a sort of n deliveries.
"""

from __future__ import annotations

import numpy as np

from chaoskit.base.columns import Ints
from chaoskit.model.message import PRODUCER_SHIFT
from checkers.arrays.columns import running_maximum, stable_order
from checkers.arrays.view import LogView


def overtaken(log: LogView, row: Ints) -> tuple[Ints, Ints]:
    """Find deliveries to a client after a later message of the same producer.

    Args:
        log: the view.
        row: the deliveries to look at, as rows of `log.intact`.

    Returns:
        Their rows, and for each one the row of the latest message of its producer that the client had received before.
    """
    if not row.size:
        return row, row
    producer = log.intact.value[row] >> PRODUCER_SHIFT
    group = log.operations.process[log.intact.operation[row]] * (producer.max() + 1) + producer
    order = stable_order(group)
    row, group = row[order], group[order]
    place, highest = running_maximum(group, log.intact_values[row].astype(np.int64), log.values.size)
    below = np.flatnonzero(place < highest)
    return row[below], row[np.searchsorted(highest, highest[below])]
