"""Rules of a tap: which messages they concern, and what is done with those.

A stand-alone module: a tap loads it on a host.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from chaoskit.contract.wire import Header

DROP, DROP_AND_CLOSE, CLOSE_BEFORE, CLOSE_AFTER = "drop", "drop-and-close", "close-before", "close-after"
DUPLICATE, TRUNCATE, GARBLE = "duplicate", "truncate", "garble"
DELAY, HOLD_UNTIL, ERROR = "delay", "hold-until", "error"
COUNT = "count"

PLAIN = (DROP, DROP_AND_CLOSE, CLOSE_BEFORE, CLOSE_AFTER, DUPLICATE, TRUNCATE, GARBLE, COUNT)
"""What is done without an argument."""

WITH_ARGUMENT = {DELAY: "a time, such as delay 2s", HOLD_UNTIL: "a message", ERROR: "an error"}
"""What is done with an argument."""

WHOLE = (DUPLICATE, TRUNCATE, GARBLE, ERROR, CLOSE_AFTER)
"""What needs all bytes of a message at once."""

REQUEST, RESPONSE = "request", "response"

ANY = "*"
"""Stands for all messages of both directions, which can only be counted."""

_TOLD_MAX = 10_000
"""So many messages that something was done with are kept with their correlation ids."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        message: name of the request, also where responses are meant.
        of: `request` or `response`.
        then: what is done.
        argument: the time of `delay` in ns, the message of `hold-until`, the error of `error`.
        of_client: pattern of the names that clients give themselves.
        which: numbers of the matching messages that are chosen, from 1; empty: any.
        every: every so many matching messages one is chosen.
        first: number of the first matching message that may be chosen.
        count: how many are chosen at most; None: any number.
        share: the share of matching messages that is chosen at random.
        seed: seed of the draws.
    """

    message: str
    of: str
    then: str
    argument: Any = None
    of_client: str = "*"
    which: Sequence[int] = ()
    every: int = 1
    first: int = 1
    count: int | None = None
    share: float = 1.0
    seed: int = 0


class Matching:
    """Counts what a rule matches, and chooses from it.

    Attributes:
        rule: the rule.
        matched: number of messages that matched.
        done: number of messages that were chosen.
        what: of each chosen message its number, correlation id, client and time (CLOCK_MONOTONIC, ns).
        tally: number of messages that were counted, by direction and name, such as `request Fetch`.
    """

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.matched = 0
        self.done = 0
        self.what: list[tuple[int, int, str, int]] = []
        self.tally: Counter[str] = Counter()
        self._draw = random.Random(rule.seed)  # noqa: S311  # a repeatable draw, no secret

    def chooses(self, of: str, header: Header) -> bool:
        """Return whether something is to be done with a message; each is asked about once."""
        rule = self.rule
        if rule.message != ANY and (header.message != rule.message or of != rule.of):
            return False
        if not fnmatchcase(header.client, rule.of_client):
            return False
        self.matched += 1
        if rule.then == COUNT:
            self.done += 1
            self.tally[f"{of} {header.message}"] += 1
            return False
        if not self._is_chosen(self.matched):
            return False
        self.done += 1
        if len(self.what) < _TOLD_MAX:
            self.what.append((self.matched, header.correlation, header.client, time.monotonic_ns()))
        return True

    def report(self) -> dict[str, Any]:
        """Return what was matched and done, as JSON values."""
        return {"matched": self.matched, "done": self.done, "what": self.what, "tally": dict(self.tally)}

    def _is_chosen(self, number: int) -> bool:
        rule = self.rule
        drawn = rule.share >= 1 or self._draw.random() < rule.share
        if rule.count is not None and self.done >= rule.count:
            return False
        if rule.which and number not in rule.which:
            return False
        return drawn and number >= rule.first and (number - rule.first + 1) % rule.every == 0


class Rules:
    """The rules of a tap, by name.

    Attributes:
        active: the rules in effect.
        looking: whether messages must be looked at.
    """

    def __init__(self) -> None:
        self.active: dict[str, Matching] = {}
        self.looking = False
        self._ended: dict[str, Matching] = {}

    def add(self, name: str, content: Mapping[str, Any]) -> None:
        """Put a rule into effect; one of this name that is in effect stays as it is."""
        self.active.setdefault(name, Matching(Rule(**content)))
        self._ended.pop(name, None)
        self.looking = True

    def end(self, name: str) -> None:
        """End a rule, if it is in effect."""
        if (ended := self.active.pop(name, None)) is not None:
            self._ended[name] = ended
        self.looking = bool(self.active)

    def undone(self, name: str) -> None:
        """Take back that something was done with the message that a rule chose last."""
        matching = self.active[name]
        matching.done -= 1
        del matching.what[matching.done :]

    def report(self, name: str) -> dict[str, Any] | None:
        """Return what a rule matched and what was done, also once it has ended; None if it never was."""
        found = self.active.get(name) or self._ended.get(name)
        return None if found is None else found.report()

    def chosen(self, of: str, header: Header) -> tuple[str, Rule] | None:
        """Return the first rule, and its name, that chooses a message; every rule counts it."""
        found = None
        for name, matching in self.active.items():
            if matching.chooses(of, header) and found is None:
                found = name, matching.rule
        return found
