"""What a run did not record, and so cannot have found."""

from __future__ import annotations

from chaoskit.contract.checkers.anomaly import Anomaly
from chaoskit.history.digesting.live import digested
from chaoskit.history.reading.reader import History, each_observations
from chaoskit.judge.timing.counting import is_word


def unrecorded(anomaly: Anomaly, history: History) -> str:
    """Return why nothing can be found of an anomaly: what it needs was not recorded anywhere; empty if it was."""
    if not anomaly.needs or digested(history.folder):
        return ""
    for partition in history.partitions:
        for rows in each_observations(partition, ["kind"]):
            if any(is_word(rows["kind"], kind).any() for kind in anomaly.needs):
                return ""
    return f"it could not be looked for: nothing was recorded as {' or '.join(anomaly.needs)}"
