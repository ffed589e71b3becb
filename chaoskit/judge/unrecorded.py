"""What a run did not record, and so cannot have found."""

from __future__ import annotations

from chaoskit.contract.anomaly import Anomaly
from chaoskit.history.digesting.live import digested
from chaoskit.history.reading.reader import History, each_observations
from chaoskit.judge.counting import is_word


def unrecorded(anomaly: Anomaly, history: History) -> str:
    """Return why nothing can be found of an anomaly: what it needs was not recorded anywhere; empty if it was."""
    if not anomaly.needs or digested(history.folder):
        return ""
    for partition in history.partitions:
        if any(is_word(rows["kind"], anomaly.needs).any() for rows in each_observations(partition, ["kind"])):
            return ""
    return f"nothing that was {anomaly.needs} is recorded"
