"""What the final read of a run reached: the `audit` section of verdict.json."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chaoskit.history.reading.reader import History
from chaoskit.judge.subject.subject import Subject
from chaoskit.model.audit import Bounds
from chaoskit.model.place import Place


def final_read(subject: Subject, history: History) -> tuple[dict[str, Any], bool]:
    """Return the `audit` section of verdict.json, and whether the final read leaves no doubt.

    An imported history may have no final read at all; messages that this leaves open are `unseen`.
    """
    wanted = _wanted(subject.partitions, [(partition.topic, partition.partition) for partition in history.partitions])
    audits = {where: history.audit(*where) for where in wanted}
    complete = all(audit is not None and audit.complete for audit in audits.values())
    ends = {f"{place[0]}/{place[1]}": audit.end for place, audit in audits.items() if isinstance(audit, Bounds)}
    unread = {
        f"{topic}/{partition}": _unread(audit, subject.describe) if isinstance(audit, Bounds) else {}
        for (topic, partition), audit in audits.items()
        if audit is None or not audit.complete
    }
    section: dict[str, Any] = {"complete": complete, "end_positions": ends, "unread": unread}
    if last := {where: text for where, end in ends.items() if end > 0 and (text := subject.describe(end - 1))}:
        section["last_positions"] = last
    return section, complete or (subject.imported and not ends)


def _wanted(planned: Sequence[Place], recorded: Sequence[Place]) -> list[Place]:
    """Return the partitions that the final read had to reach: those that the workload declared, and those of its topics
    that were added; of a run without a plan, those that were recorded."""
    topics = {topic for topic, _ in planned or recorded}
    return list(dict.fromkeys([*planned, *(place for place in recorded if place[0] in topics)]))


def _unread(audit: Bounds, describe: Callable[[int], str]) -> dict[str, Any]:
    """Return from where to where a partition was not read, also in the system's own notation, if it has one."""
    unread: dict[str, Any] = {"from": audit.reached, "to": audit.end}
    if ends_after := describe(audit.end - 1) if audit.end > 0 else "":
        unread |= {"read_to": describe(audit.reached - 1) if audit.reached else "", "ends_after": ends_after}
    return unread
