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

from chaoskit.contract.systems.wire import Header
from nemeses.wire.carried import Carried

DROP, DROP_AND_CLOSE, CLOSE_BEFORE, CLOSE_AFTER = "drop", "drop-and-close", "close-before", "close-after"
DUPLICATE, TRUNCATE, GARBLE = "duplicate", "truncate", "garble"
DELAY, HOLD_UNTIL, ERROR = "delay", "hold-until", "error"
COUNT = "count"

PLAIN = (DROP, DROP_AND_CLOSE, CLOSE_BEFORE, CLOSE_AFTER, DUPLICATE, TRUNCATE, GARBLE, COUNT)
"""What is done without an argument."""

WITH_ARGUMENT = {DELAY: "a time, such as delay 2s", HOLD_UNTIL: "a message", ERROR: "an error"}
"""What is done with an argument."""

REQUEST, RESPONSE = "request", "response"

ANY = "*"
"""Stands for all messages of both directions, which can only be counted."""

_HITS_MAX = 10_000
"""So many messages that something was done with are kept with their correlation ids."""


@dataclass(frozen=True, slots=True)
class TapRule:
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


@dataclass(slots=True)
class Hit:
    """A message that was chosen.

    Attributes:
        matching: chose it.
        correlation: its correlation id.
        at_ns: when it was done with it what the rule says, CLOCK_MONOTONIC; 0: not yet.
        carried: which messages of the run it, or the request that it answers, carries.
    """

    matching: Matching
    correlation: int
    at_ns: int = 0
    carried: Carried = ()


class Matching:
    """Counts what a rule matches, and chooses from it.

    Attributes:
        name: name of the rule.
        rule: the rule.
        matched: number of messages that matched.
        done: number of messages with which it was done what the rule says, or that were counted.
        hits: those messages, up to a number.
        tally: number of messages that were counted, by direction and name, such as `request Fetch`.
    """

    def __init__(self, name: str, rule: TapRule) -> None:
        self.name = name
        self.rule = rule
        self.matched = 0
        self.done = 0
        self._chosen = 0
        self.hits: list[Hit] = []
        self.tally: Counter[str] = Counter()
        self._draw = random.Random(rule.seed)  # noqa: S311  # a repeatable draw, no secret

    def choose(self, of: str, header: Header) -> Hit | None:
        """Return a message with which something is to be done, else None; each is asked about once."""
        rule = self.rule
        if rule.message not in (ANY, header.message) or (of != rule.of and (rule.message, rule.then) != (ANY, COUNT)):
            return None
        if not fnmatchcase(header.client, rule.of_client):
            return None
        self.matched += 1
        if rule.then == COUNT:
            self.done += 1
            self.tally[f"{of} {header.message}"] += 1
            return None
        if not self._is_chosen(self.matched):
            return None
        self._chosen += 1
        return Hit(self, header.correlation)

    def do(self, hit: Hit) -> None:
        """It is done now with a message what the rule says."""
        self.done += 1
        hit.at_ns = time.monotonic_ns()
        if len(self.hits) < _HITS_MAX:
            self.hits.append(hit)

    def spare(self) -> None:
        """Nothing is done with a message that was chosen."""
        self._chosen -= 1

    def report(self) -> dict[str, Any]:
        """Return what was matched and done, as JSON values: of each hit its correlation id, its time and what it
        carries."""
        hits = [(hit.correlation, hit.at_ns, hit.carried) for hit in self.hits]
        return {"matched": self.matched, "done": self.done, "hits": hits, "tally": dict(self.tally)}

    def _is_chosen(self, number: int) -> bool:
        rule = self.rule
        drawn = rule.share >= 1 or self._draw.random() < rule.share
        if rule.count is not None and self._chosen >= rule.count:
            return False
        if rule.which and number not in rule.which:
            return False
        return drawn and number >= rule.first and (number - rule.first + 1) % rule.every == 0


class TapRules:
    """The rules of a tap, by name.

    Attributes:
        active: the rules in effect.
        looking: whether messages must be looked at.
        answering: whether something may be done with answers.
    """

    def __init__(self) -> None:
        self.active: dict[str, Matching] = {}
        self.looking = self.answering = False
        self._ended: dict[str, Matching] = {}

    def add(self, name: str, content: Mapping[str, Any]) -> None:
        """Put a rule into effect; one of this name that is in effect stays as it is."""
        self.active.setdefault(name, Matching(name, TapRule(**content)))
        self._ended.pop(name, None)
        self._look()

    def end(self, name: str) -> None:
        """End a rule, if it is in effect."""
        if (ended := self.active.pop(name, None)) is not None:
            self._ended[name] = ended
        self._look()

    def report(self, name: str) -> dict[str, Any] | None:
        """Return what a rule matched and what was done, also once it has ended; None if it never was."""
        rule = self.active.get(name) or self._ended.get(name)
        return None if rule is None else rule.report()

    def chosen(self, of: str, header: Header) -> Hit | None:
        """Return the hit of the first rule that chooses a message; every rule counts it."""
        hits = [hit for matching in self.active.values() if (hit := matching.choose(of, header)) is not None]
        for other in hits[1:]:
            other.matching.spare()
        return hits[0] if hits else None

    def _look(self) -> None:
        rules = [matching.rule for matching in self.active.values()]
        self.looking = bool(rules)
        self.answering = any(rule.of == RESPONSE and rule.then != COUNT for rule in rules)
