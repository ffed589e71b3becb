"""Causes in how a consumer group works."""

from __future__ import annotations

from dataclasses import replace

from workloads.synthetic.causes import Cause
from workloads.synthetic.consumption import COMMIT_EVERY, Mark, mark_rows
from workloads.synthetic.windows import Windows

_AHEAD = 1_000_000
_GROUP = ("group",)


def _commits(windows: Windows, cause: str) -> tuple[int, Mark]:
    """Return a partition and a commit of it with no rebalance near, each once."""
    window = windows.take(cause)
    marks = windows.consumption.marks[window.index]
    fits = [mark for mark in marks if mark.direction == "committed" and mark.control[0] >= window.slot]
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
    assigns = [each for each in consumption.controls if each.f == "assign"]
    for index in windows.rng.permutation(windows.layout.parameters.places).tolist():
        for mark in [each for each in consumption.marks[index] if each.direction == "assigned"]:
            used = {(at, other.control) for at, other in windows.edits.marks}
            for other in assigns:
                control = other.slot, other.number
                if other.slot == mark.control[0] and control != mark.control and (index, control) not in used:
                    windows.edits.marks.append((index, replace(mark, control=control)))
                    windows.edits.truth.append({"anomaly": "double-assignment", "cause": cause, "index": index})
                    return
    raise windows.refuse(cause, "there is no second member to give a partition to")


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
    "stuck": Cause("a partition's owner receives nothing any more: stuck-partition", stuck, _GROUP),
    "commit-back": Cause("a committed position goes back: commit-regression", commit_back, _GROUP),
    "commit-ahead": Cause("a position is committed that nobody reached: commit-beyond", commit_ahead, _GROUP),
    "double-owner": Cause("two members own a partition in one generation: double-assignment", double_owner, _GROUP),
}
