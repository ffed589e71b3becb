"""Keys that moved to another partition, and whose messages a group received in another order than they were sent.

A topic that is given more partitions has keys of which older messages are in one partition and newer ones in another.
Brokers keep no order between these: a group that is behind receives the newer ones first. This is a measurement of what
happened to each key that a producer sent elsewhere from then on.

What cannot be told: messages that the group never received, keys of producers that sent to both at the same time, and
the order of what a producer sent before and after it was started again.

Cost: O(n log n) for n receives of a group, only if a producer chose from other partitions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Ints, integers, is_one_of, words_of
from chaoskit.contract.checkers.anomaly import About, Anomaly
from chaoskit.contract.checkers.checker import Part, PartitionSetting
from chaoskit.contract.workloads.traits import Group
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.model.observations.log import PARTITIONS
from checkers.arrays.columns import changes, running_maximum
from checkers.arrays.findings import findings_of, merged, no_findings
from checkers.arrays.models import IN_LOGS
from checkers.arrays.view import LogView

KEY_OVERTAKEN = Anomaly(
    "key-overtaken",
    "a group received a message before an earlier one of its producer and key, which is in another partition",
    IN_LOGS,
    measured=True,
    about=About.READING,
    shared=True,
    lasting=True,
    remedy="let groups receive everything before partitions are added; begin with as many partitions as will be "
    "needed; or move to a new topic",
    needs=(PARTITIONS,),
    only_with=Group,
)

EXTRACTS = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("group", pa.string()),
        ("key", pa.string()),
        ("producer", pa.int64()),
        ("first", pa.int64()),
        ("last", pa.int64()),
        ("apart_ns", pa.int64()),
        *((f"{which}_{of}", pa.int64()) for which in ("early", "late") for of in ("value", "position", "op", "ns")),
    ]
)
"""What a group received of one key and producer in one partition: the `first` and the `last` value by when they were
sent; and of the messages that it received first and last, counting the first receive of each, what is known of that."""


def extract_of(part: Part, groups: Sequence[tuple[str, Ints]]) -> pa.Table:
    """Return the rows of a partition, given the name and the processes of each group."""
    view = part.view(LogView)
    keys = part.messages.filter(pa.array(is_one_of(part.messages["direction"], ["sent"])))["key"]
    return pa.concat_tables([EXTRACTS.empty_table(), *(_of_group(view, keys, *group) for group in groups)])


def _of_group(view: LogView, keys: pa.ChunkedArray, group: str, members: Ints) -> pa.Table:
    """Return the rows of one group; `keys` are those of all sends."""
    intact = view.intact
    rows = np.flatnonzero(np.isin(view.operations.process[intact.operation], members))
    rows = rows[np.lexsort((intact.received_ns[rows], view.intact_values[rows]))]
    rows = rows[changes(view.intact_values[rows])]
    send = view.first_sends[view.intact_values[rows]]
    keyed = (send != NONE) & (view.sends.key[send] > 0)
    rows, send = rows[keyed], send[keyed]
    producer, key = intact.value[rows] >> PRODUCER_SHIFT, view.sends.key[send]
    order = np.lexsort((intact.received_ns[rows], key, producer))
    rows, send, producer, key = rows[order], send[order], producer[order], key[order]
    begins = np.flatnonzero(changes(producer, key)) if rows.size else rows
    ends = np.append(begins, rows.size)[1:] - 1
    values = intact.value[rows]
    columns = {
        "topic": [view.setting.topic] * begins.size,
        "partition": np.full(begins.size, view.setting.partition),
        "group": [group] * begins.size,
        "key": keys.take(pa.array(send[begins])).cast(pa.string()),
        "producer": producer[begins],
        "first": np.minimum.reduceat(values, begins) if rows.size else values,
        "last": np.maximum.reduceat(values, begins) if rows.size else values,
        "apart_ns": np.full(begins.size, view.setting.apart_ns),
    }
    for which, at in (("early", rows[begins]), ("late", rows[ends])):
        columns |= {
            f"{which}_value": intact.value[at],
            f"{which}_position": intact.position[at],
            f"{which}_op": view.operations.op[intact.operation[at]],
            f"{which}_ns": intact.received_ns[at],
        }
    return pa.table(columns).select(EXTRACTS.names).cast(EXTRACTS)


def moved_cases(extracts: pa.Table) -> pa.Table:
    """Find keys of which a group received a later message in one partition before an earlier one in another.

    One finding for each key, producer and group, and each partition that it moved to. Evidence: `op` received the
    message `value`, at `at_ns`; `other_op` had received `other_value`, which was sent after it, since `since_ns`.
    """
    if not extracts.num_rows:
        return no_findings()
    extracts = extracts.sort_by([(name, "ascending") for name in ("topic", "group", "key", "producer", "first")])
    named = [words_of(extracts[name])[0] for name in ("topic", "group", "key")]
    run: Ints = np.cumsum(changes(*named, integers(extracts["producer"])), dtype=np.int64)
    first, last, apart_ns = (integers(extracts[name]) for name in ("first", "last", "apart_ns"))
    early_ns, late_ns = integers(extracts["early_ns"]), integers(extracts["late_ns"])
    before, whole = _latest(run, late_ns), _latest(run, last)
    later = np.flatnonzero(before != NONE)
    later = later[last[whole[later]] < first[later]]
    later = later[early_ns[later] + apart_ns[later] < late_ns[before[later]]]
    topics, partitions = extracts["topic"].take(pa.array(before[later])).to_pylist(), integers(extracts["partition"])
    places = list(zip(topics, partitions[before[later]].tolist(), strict=True))
    return merged([_findings_in(extracts, place, later, before, places) for place in dict.fromkeys(places)])


def _latest(run: Ints, number: Ints) -> Ints:
    """Return for each row the row before it, in its run, with the highest number; `NONE` for the first row of a run."""
    order = np.argsort(number, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    _, highest = running_maximum(run, place, order.size)
    before = np.concatenate([[NONE], order[highest[:-1] % order.size]])
    return np.where(changes(run), NONE, before)


def _findings_in(
    extracts: pa.Table, place: tuple[str, int], later: Ints, before: Ints, places: Sequence[tuple[str, int]]
) -> pa.Table:
    chosen = later[[other == place for other in places]]
    earlier = extracts.take(pa.array(before[chosen]))
    newer = extracts.take(pa.array(chosen))
    return findings_of(
        PartitionSetting(*place),
        KEY_OVERTAKEN,
        value=integers(earlier["late_value"]),
        position=integers(earlier["late_position"]),
        op=integers(earlier["late_op"]),
        at_ns=integers(earlier["late_ns"]),
        other_value=integers(newer["early_value"]),
        other_position=integers(newer["early_position"]),
        other_op=integers(newer["early_op"]),
        since_ns=integers(newer["early_ns"]),
    )
