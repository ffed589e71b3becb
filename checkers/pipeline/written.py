"""Outputs that should not be there, not so often, not in this order, or not so late; and those of which it is not known
whether they should."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Ints
from chaoskit.contract.checkers.anomaly import About, Anomaly
from chaoskit.contract.checkers.checker import PartitionSetting
from chaoskit.contract.workloads.datamodel import OUTPUT
from chaoskit.contract.workloads.traits import Piped
from chaoskit.model.observations.pipeline import UNIDENTIFIED
from checkers.arrays.columns import changes
from checkers.arrays.findings import coded, findings_of, merged, no_findings
from checkers.delivery.loss import UNSEEN
from checkers.pipeline import queue_blame
from checkers.pipeline.blame import of_owner, of_repeated
from checkers.pipeline.blamed import Blame, accused
from checkers.pipeline.outputs import Sink
from checkers.pipeline.view import PipelineView

MODELS = (OUTPUT,)
UNSEEN_DETAILS = ("it was confirmed to the application, and nobody received it",)

PROCESSED_TWICE = Anomaly(
    "processed-twice",
    "an input has more outputs than it should",
    MODELS,
    about=About.READING,
    notable=True,
    only_with=Piped,
    of_application=True,
)
OUT_OF_ORDER = Anomaly(
    "out-of-order",
    "the first outputs of two inputs of one key are in another order than the inputs",
    MODELS,
    about=About.READING,
    only_with=Piped,
    of_application=True,
)
AMBIGUOUS_OUTPUT = Anomaly(
    "ambiguous-output",
    "an output was delivered again, and may be another output of its input",
    MODELS,
    doubt="whether an output that was delivered again is another one is not known",
    about=About.READING,
    only_with=Piped,
    of_application=True,
)
UNATTRIBUTED = Anomaly(
    "unattributed",
    "no output in one of `writes` has the id of an input",
    MODELS,
    doubt="the identity fits no output, so what became of inputs there is not known",
    about=About.READING,
    only_with=Piped,
    of_application=True,
)
MADE_UP = Anomaly(
    "made-up",
    "an output belongs to no input",
    MODELS,
    about=About.READING,
    only_with=Piped,
    of_application=True,
)
TOO_LATE = Anomaly(
    "too-late",
    "the first output of an input came later than the declared bound",
    MODELS,
    about=About.READING,
    only_with=Piped,
    of_application=True,
)


def unseen_cases(view: PipelineView) -> pa.Table:
    """Find outputs that the system confirmed to the application, and that nobody received.

    Evidence: `value` is the input.
    """
    tables = [no_findings()]
    for sink in view.sinks:
        gone = np.flatnonzero(view.confirmed(sink) > sink.received)
        setting, nothing = PartitionSetting(sink.topic, 0), np.full(gone.size, NONE)
        evidence = {"value": view.value[gone], "position": nothing, "op": view.op[gone], "at_ns": view.acked_ns[gone]}
        tables.append(findings_of(setting, UNSEEN, details=UNSEEN_DETAILS, **evidence))
    return merged(tables)


def processed_twice_cases(view: PipelineView) -> pa.Table:
    """Evidence: `op` read the output that is too many, at `at_ns`; `other_op` the first one of its input."""
    return merged([no_findings(), *(table for sink in view.sinks for table in _twice(view, sink))])


def _twice(view: PipelineView, sink: Sink) -> Iterator[pa.Table]:
    rows = np.flatnonzero(sink.input != NONE)
    rows = rows[np.lexsort((sink.position[rows], sink.at_ns[rows], sink.input[rows]))]
    owner = sink.input[rows]
    begin = np.flatnonzero(changes(owner))
    rank = np.arange(owner.size) - np.repeat(begin, np.diff(np.append(begin, owner.size)))
    first = np.repeat(rows[begin], np.diff(np.append(begin, owner.size)))
    many = rank >= sink.most[owner] * np.maximum(view.copies[owner], 1)
    again, first = rows[many], first[many]
    why = of_repeated if view.queue is None else queue_blame.of_repeated
    blames = [
        why(view, int(sink.input[row]), int(sink.at_ns[one]), int(sink.at_ns[row]))
        for row, one in zip(again.tolist(), first.tolist(), strict=True)
    ]
    yield from _of_outputs(sink, PROCESSED_TWICE, again, blames, other_op=sink.op[first], since_ns=sink.at_ns[first])


def _of_outputs(sink: Sink, anomaly: Anomaly, rows: Ints, blames: list[Blame], **evidence: Ints) -> Iterator[pa.Table]:
    words, code = coded([blame.words for blame in blames])
    for number in np.unique(sink.partition[rows]).tolist():
        mine = sink.partition[rows] == number
        value = sink.value[rows][mine]
        yield findings_of(
            PartitionSetting(sink.topic, number),
            anomaly,
            details=words,
            detail=code[mine],
            value=np.where(value == UNIDENTIFIED, NONE, value),
            position=sink.position[rows][mine],
            op=sink.op[rows][mine],
            at_ns=sink.at_ns[rows][mine],
            other_ops=accused(blames, mine),
            **{name: column[mine] for name, column in evidence.items()},
        )


def ambiguous_cases(view: PipelineView) -> pa.Table:
    """Find inputs that have as many outputs as they should, or not, depending on whether a delivery that is marked as
    redelivered is of another output.

    Evidence: `value` is the input.
    """
    tables = [no_findings()]
    for sink in view.sinks:
        counts, least, most = view.counts(sink), sink.least * view.copies, sink.most * np.maximum(view.copies, 1)
        repeated, halved = (counts <= most) & (sink.possible > most), (counts < least) & (sink.possible >= least)
        rows = np.flatnonzero(repeated | halved)
        details = ("it may have been processed twice", "it may have been processed in part")
        evidence = {"value": view.value[rows], "op": view.op[rows], "at_ns": view.acked_ns[rows]}
        code = (~repeated[rows]).astype(np.int64)
        setting = PartitionSetting(sink.topic, 0)
        tables.append(
            findings_of(
                setting, AMBIGUOUS_OUTPUT, details=details, detail=code, position=np.full(rows.size, NONE), **evidence
            )
        )
    return merged(tables)


def out_of_order_cases(view: PipelineView) -> pa.Table:
    """Evidence: `op` read an output behind one, read by `other_op`, of a later input of its key."""
    return merged([no_findings(), *(table for sink in view.sinks for table in _disordered(view, sink))])


def _disordered(view: PipelineView, sink: Sink) -> Iterator[pa.Table]:
    if not (view.ordered and sink.ordered):
        return
    rows = np.flatnonzero(sink.input != NONE)
    rows = rows[view.in_topic[sink.input[rows]]]
    rows = rows[np.lexsort((sink.position[rows], sink.partition[rows], sink.input[rows]))]
    owner = sink.input[rows]
    rows = rows[changes(owner)]  # the first output of each input
    owner = sink.input[rows]
    group = (view.place[owner] << 48) | (view.key[owner] << 24) | sink.partition[rows]
    order = np.lexsort((sink.position[rows], group))
    rows, group, owner = rows[order], group[order], owner[order]
    at = view.position[owner]
    behind = np.flatnonzero((at[1:] < at[:-1]) & (group[1:] == group[:-1])) + 1
    words = "a later input of its key was processed before"
    at_ns = sink.at_ns[rows[behind]].tolist()
    blames = [
        Blame(words, of_owner(view, index, time_ns, time_ns))
        for index, time_ns in zip(owner[behind].tolist(), at_ns, strict=True)
    ]
    yield from _of_outputs(
        sink,
        OUT_OF_ORDER,
        rows[behind],
        blames,
        other_op=sink.op[rows[behind - 1]],
        other_value=sink.value[rows[behind - 1]],
    )


def made_up_cases(view: PipelineView) -> pa.Table:
    """Evidence: `op` read the output."""
    tables = [no_findings()]
    for sink in view.sinks:
        rows = np.flatnonzero(sink.input == NONE)
        without = sink.value[rows] == UNIDENTIFIED
        words = ["it has no id of an input" if none else "no input had this id" for none in without.tolist()]
        tables += _of_outputs(sink, MADE_UP, rows, [Blame(why) for why in words])
    return merged(tables)


def unattributed_cases(view: PipelineView) -> pa.Table:
    """Evidence: `op` read the first output of the sink, at `at_ns`."""
    tables = [no_findings()]
    for sink in view.unattributed:
        tables += _of_outputs(sink, UNATTRIBUTED, np.argsort(sink.at_ns)[:1], [Blame("it has no id of an input")])
    return merged(tables)


def too_late_cases(view: PipelineView) -> pa.Table:
    """Evidence: `op` read the first output at `at_ns`; the input was acknowledged at `since_ns`."""
    tables = [no_findings()]
    for sink in view.sinks if view.within_ns != NONE else ():
        rows = np.flatnonzero(sink.input != NONE)
        rows = rows[np.lexsort((sink.at_ns[rows], sink.input[rows]))]
        rows = rows[changes(sink.input[rows])]
        acked_ns = view.acked_ns[sink.input[rows]]
        late = rows[(acked_ns != NONE) & (sink.at_ns[rows] - acked_ns > view.within_ns)]
        words = f"later than {view.within_ns / 1e9:g} s"
        since_ns = view.acked_ns[sink.input[late]]
        times = zip(sink.input[late].tolist(), since_ns.tolist(), sink.at_ns[late].tolist(), strict=True)
        blames = [Blame(words, of_owner(view, index, begin_ns, end_ns)) for index, begin_ns, end_ns in times]
        tables += _of_outputs(sink, TOO_LATE, late, blames, since_ns=since_ns)
    return merged(tables)
