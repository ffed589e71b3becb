"""The gallery's histories of ledgers."""

from __future__ import annotations

from gallery_log import blank, shows
from story import Row, Story, received, sent

from chaoskit.contract.workloads.datamodel import LEDGER
from chaoskit.model.audit import Audit, Bounds

L = "ledger/7"


def confirmed(position: int) -> Row:
    """What a reader is told: one past the last confirmed entry."""
    return _standing("confirmed", position)


def ended(position: int) -> Row:
    """What who ends a ledger, or sees it ended, is told: one past its last entry."""
    return _standing("ended", position)


def _standing(kind: str, position: int) -> Row:
    return {"kind": kind, "topic": "ledger", "partition": 7, "position": position}


def ledger(count: int, audit: Audit | None = None) -> Story:
    """A ledger with so many entries, all acknowledged: message i is entry i."""
    story = blank()
    story.model = LEDGER
    story.audits = {L: audit} if audit else {}
    story.op("w", "create", confirmed(0))
    for entry in range(count):
        story.op("w", "add", sent(L, entry, entry))
    return story


def recovered(story: Story, *entries: int, client: str = "auditor") -> Story:
    """Somebody opens the ledger with recovery, and reads all of it."""
    story.op(client, "recover", ended(len(entries)))
    story.op(client, "read", *(received(L, value, position) for position, value in enumerate(entries)))
    return story


@shows("lost-entry")
def lost_entry(broken: bool) -> Story:
    story = ledger(2, Bounds(0, 1 if broken else 2, complete=True))
    return recovered(story, *((0,) if broken else (0, 1)))


@shows("lac-regression")
def lac_regression(broken: bool) -> Story:
    story = ledger(3)
    story.op("r", "open", confirmed(2))
    story.op("r", "lac", confirmed(1 if broken else 2))
    return story


@shows("entry-conflict")
def entry_conflict(broken: bool) -> Story:
    story = ledger(2)
    recovered(story, 0, 1, client="a")
    return recovered(story, 0, 0 if broken else 1, client="b")


@shows("fencing-violation")
def fencing_violation(broken: bool) -> Story:
    story = ledger(1)
    story.op("r", "recover", ended(1))
    story.op("w", "add", sent(L, 1, 1 if broken else None), outcome="ok" if broken else "info")
    return story


@shows("readers-disagree")
def readers_disagree(broken: bool) -> Story:
    story = ledger(2)
    story.op("a", "recover", ended(2))
    story.op("b", "recover", ended(1 if broken else 2))
    return story
