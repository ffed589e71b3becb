"""Causes in consumer groups."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from chaoskit.testing.synthetic.causes import InjectedCause
from chaoskit.testing.synthetic.consumption import COMMIT_EVERY, ControlRows, Mark, mark_rows
from chaoskit.testing.synthetic.windows import Windows

_AHEAD = 1_000_000
_GROUP = ("group",)


def _commits(windows: Windows, cause: str) -> tuple[int, Mark]:
    """Return a partition and a commit of it without a rebalance or another such commit nearby."""
    window = windows.take(cause)
    marks = [mark for mark in windows.consumption.marks[window.index] if mark.direction == "committed"]
    taken = [mark.control[0] for mark in marks if mark.shift]
    fits = [
        mark
        for before, mark in pairwise(marks)
        if mark.control[0] >= window.slot
        and mark.control[0] - before.control[0] <= COMMIT_EVERY
        and all(abs(mark.control[0] - slot) > 3 * COMMIT_EVERY for slot in taken)
    ]
    if not fits:
        raise windows.refuse(cause, "there are too few commits")
    return window.index, fits[0]


def _expect(windows: Windows, anomaly: str, cause: str, index: int, mark: Mark) -> None:
    op = int(mark_rows(windows.layout, [mark])["op"][0])
    windows.edits.truth.append({"anomaly": anomaly, "cause": cause, "index": index, "op": op})


def commit_back(windows: Windows, cause: str) -> None:
    index, mark = _commits(windows, cause)
    mark.after, mark.shift = mark.after - COMMIT_EVERY - 1, -1
    _expect(windows, "commit-regression", cause, index, mark)


def commit_ahead(windows: Windows, cause: str) -> None:
    index, mark = _commits(windows, cause)
    mark.shift = _AHEAD
    _expect(windows, "commit-beyond", cause, index, mark)


def double_owner(windows: Windows, cause: str) -> None:
    consumption = windows.consumption
    assigns = {(control.slot, control.number): control for control in consumption.controls if control.f == "assign"}
    for index in windows.rng.permutation(windows.layout.parameters.places).tolist():
        for mark in [mark for mark in consumption.marks[index] if mark.direction == "assigned"]:
            used = {(at, other.control) for at, other in windows.edits.marks}
            for control, other in assigns.items():
                sure = _moves_on(windows, other) and _moves_on(windows, assigns[mark.control])
                if control[0] == mark.control[0] and control != mark.control and (index, control) not in used and sure:
                    windows.edits.marks.append((index, replace(mark, control=control)))
                    windows.edits.truth.append({"anomaly": "double-assignment", "cause": cause, "index": index})
                    return
    raise windows.refuse(cause, "there is no second member for a partition")


def _moves_on(windows: Windows, assign: ControlRows) -> bool:
    """Return whether the member with the assigned partitions continues later; a crashed one may or may not own them."""
    if windows.consumption.lasts(assign):
        return True
    moves = [control for control in windows.consumption.controls if control.f in ("assign", "revoke", "close")]
    after = (assign.slot, assign.number)
    return any(move.process == assign.process and (move.slot, move.number) > after for move in moves)


def stuck(windows: Windows, cause: str) -> None:
    half = windows.layout.slots // 2
    for index in windows.rng.permutation(windows.layout.parameters.places).tolist():
        edits = windows.edits.of(index)
        if edits.silent_from is None and windows.sender.places(index).size:
            edits.silent_from = half
            windows.edits.truth.append({"anomaly": "stuck-partition", "cause": cause, "index": index})
            return
    raise windows.refuse(cause, "there are too few partitions")


GROUP_CAUSES = {
    "stuck": InjectedCause("a partition's owner stops receiving messages: stuck-partition", stuck, _GROUP),
    "commit-back": InjectedCause("a committed position moves back: commit-regression", commit_back, _GROUP),
    "commit-ahead": InjectedCause(
        "a position is committed that no member has reached: commit-beyond", commit_ahead, _GROUP
    ),
    "double-owner": InjectedCause(
        "two members own a partition in the same generation: double-assignment", double_owner, _GROUP
    ),
}
