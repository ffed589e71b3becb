"""Inputs that lack their outputs: left out, done in part, parked, or still waiting at the end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Flags, Ints
from chaoskit.contract.checkers.anomaly import About, Anomaly, Gone
from chaoskit.contract.workloads.datamodel import OUTPUT
from chaoskit.contract.workloads.traits import Piped
from checkers.arrays.findings import coded, findings_of, merged, no_findings
from checkers.pipeline import queue_blame
from checkers.pipeline.blame import of_half_processed, of_unprocessed
from checkers.pipeline.blamed import Blame, accused
from checkers.pipeline.queue_blame import of_dead_lettered, of_left
from checkers.pipeline.view import PipelineView

MODELS = (OUTPUT,)

UNPROCESSED = Anomaly(
    "unprocessed",
    "the application was done with an input, and no output of it came",
    MODELS,
    about=About.READING,
    gone=Gone.VANISHED,
    became="were not processed",
    only_with=Piped,
    of_application=True,
)
HALF_PROCESSED = Anomaly(
    "half-processed",
    "an input has some of its outputs, and not all of them",
    MODELS,
    about=About.READING,
    only_with=Piped,
    of_application=True,
)
INPUT_DEAD_LETTERED = Anomaly(
    "input-dead-lettered",
    "an input has no output, and is among the dead letters of its queue",
    MODELS,
    measured=True,
    about=About.READING,
    notable=True,
    remedy="look why the application rejected it, or returned it too often",
    only_with=Piped,
    of_application=True,
)
NOT_DRAINED = Anomaly(
    "not-drained",
    "an input was still not processed at the end, and neither its offset committed nor it settled",
    MODELS,
    about=About.READING,
    only_with=Piped,
    of_application=True,
)


def _done(view: PipelineView) -> Flags:
    """Return which inputs the application is done with: their offset was committed; without commits, something behind
    them in their partition has an output. Of a queue: see `QueueRecord.done`."""
    if view.queue is not None:
        return view.queue.done
    if view.commits:
        committed: Flags = view.committed[0] != NONE
        return committed
    reached = np.full(len(view.settings), NONE)
    for sink in view.sinks:
        written = sink.input[sink.input != NONE]
        np.maximum.at(reached, view.place[written], view.position[written])
    done: Flags = view.position < reached[view.place]
    return done


def unprocessed_cases(view: PipelineView) -> pa.Table:
    """Evidence: `op` fed the input; `other_op` is the commit behind it, or settled it, at `at_ns`."""
    lacks_all, _ = view.missing
    at_ns, _ = view.done
    why = of_unprocessed if view.queue is None else queue_blame.of_unprocessed
    return of_inputs(view, UNPROCESSED, np.flatnonzero(lacks_all & _done(view) & ~view.dead), at_ns, why)


def dead_lettered_cases(view: PipelineView) -> pa.Table:
    """Evidence: as of `unprocessed`."""
    lacks_all, _ = view.missing
    at_ns, _ = view.done
    return of_inputs(view, INPUT_DEAD_LETTERED, np.flatnonzero(lacks_all & view.dead), at_ns, of_dead_lettered)


def half_processed_cases(view: PipelineView) -> pa.Table:
    """Evidence: as of `unprocessed`."""
    _, lacks_some = view.missing
    at_ns, _ = view.done
    why = of_half_processed if view.queue is None else queue_blame.of_unprocessed
    if view.queue is not None:  # otherwise nobody knows whether the application could do more
        lacks_some = lacks_some & (view.queue.done | view.queue.left)
    return of_inputs(view, HALF_PROCESSED, np.flatnonzero(lacks_some), at_ns, why)


def not_drained_cases(view: PipelineView) -> pa.Table:
    """Evidence: `op` fed the input, which was acknowledged at `at_ns`."""
    lacks_all, _ = view.missing
    if view.queue is not None:
        return of_inputs(view, NOT_DRAINED, np.flatnonzero(lacks_all & view.queue.left), view.acked_ns, of_left)
    waiting = np.flatnonzero(lacks_all & ~_done(view))
    return of_inputs(view, NOT_DRAINED, waiting, view.acked_ns, lambda _, __: Blame("nobody committed its offset"))


def of_inputs(
    view: PipelineView, anomaly: Anomaly, rows: Ints, at_ns: Ints, why: Callable[[PipelineView, int], Blame]
) -> pa.Table:
    """Return findings about inputs: when each was found, and why."""
    if not rows.size:
        return no_findings()
    blames = [why(view, index) for index in rows.tolist()]
    words, code = coded([blame.words for blame in blames])
    _, commit = view.done
    tables = []
    for number, setting in enumerate(view.settings):
        mine = view.place[rows] == number
        chosen = rows[mine]
        tables.append(
            findings_of(
                setting,
                anomaly,
                details=words,
                detail=code[mine],
                value=view.value[chosen],
                position=view.position[chosen],
                op=view.op[chosen],
                other_op=commit[chosen],
                other_ops=accused(blames, mine),
                at_ns=np.where(at_ns[chosen] == NONE, view.acked_ns[chosen], at_ns[chosen]),
            )
        )
    return merged(tables)
