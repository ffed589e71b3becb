"""The checker of queues: what was stored and nobody was ever given."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.contract.checkers.anomaly import Anomaly
from chaoskit.contract.checkers.checker import FINDINGS, Part
from chaoskit.contract.workloads.datamodel import QUEUE

VANISHED = Anomaly("vanished", "a stored message was never given to a consumer", (QUEUE,))


class VanishedChecker:
    """Entry point `tinyqueue` of `chaoskit.checkers`."""

    anomalies = (VANISHED,)
    models = (QUEUE,)

    def check(self, part: Part) -> pa.Table:
        stored = part.operations.filter(pc.equal(part.operations["outcome"].cast(pa.string()), "ok"))["op"]
        direction = part.messages["direction"].cast(pa.string())
        sent = part.messages.filter(pc.equal(direction, "sent"))
        received = part.messages.filter(pc.equal(direction, "received"))
        missing = pc.and_(
            pc.is_in(sent["op"], value_set=stored), pc.invert(pc.is_in(sent["value"], value_set=received["value"]))
        )
        place = {"anomaly": VANISHED.name, "topic": part.setting.topic, "partition": part.setting.partition}
        rows = [{**place, "value": row["value"], "op": row["op"]} for row in sent.filter(missing).to_pylist()]
        return pa.Table.from_pylist(rows, FINDINGS)
