"""Which single messages to try, given how many of each kind a quiet run had."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from chaoskit.contract.faults.exploring import Aim, Passed, Wishes

_LATE = 0.75
"""Where a late message is among all of its kind: the very last one may not come in another run."""


def counted(tallies: Mapping[str, Mapping[str, int]]) -> str:
    """Return what the taps of hosts counted, by direction and name, in words.

    >>> counted({"n1": {"request Fetch": 20, "response Fetch": 19}, "n2": {}})
    'n1 passed request Fetch 20, response Fetch 19; n2 passed nothing'
    """
    kinds = {
        host: ", ".join(f"{kind} {count}" for kind, count in sorted(tally.items())) or "nothing"
        for host, tally in tallies.items()
    }
    return "; ".join(f"{host} passed {words}" for host, words in kinds.items())


def figures_of(tally: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Return what one tap counted, as figures.

    >>> figures_of({"request Fetch": 20, "response Fetch": 19})
    {'request': {'Fetch': 20}, 'response': {'Fetch': 19}}
    """
    figures: dict[str, dict[str, int]] = {}
    for kind, count in tally.items():
        direction, _, name = kind.partition(" ")
        figures.setdefault(direction, {})[name] = count
    return figures


def aims(passed: Passed, hosts: Sequence[str], wishes: Wishes) -> Iterator[Aim]:
    """Yield what is tried with the messages that a quiet run had: each kind at the host that had most of it, or at
    whichever has it, if only one had.

    >>> passed = {("n1", "request", "Fetch"): 40, ("n2", "request", "Fetch"): 41, ("n1", "request", "Vote"): 1}
    >>> [(aim.on, aim.message, aim.number) for aim in aims(passed, ["n1", "n2"], Wishes(then=["drop"]))]
    [(('n2',), 'Fetch', 1), (('n2',), 'Fetch', 20), (('n2',), 'Fetch', 31), (('n1', 'n2'), 'Vote', 1)]
    """
    by_kind: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for (host, direction, message), count in passed.items():
        if any(fnmatchcase(message, pattern) for pattern in wishes.messages):
            by_kind.setdefault((message, direction), []).append((count, host))
    for (message, direction), counts in sorted(by_kind.items()):
        count, host = max(counts)
        on = tuple(hosts) if len(counts) == 1 else (host,)
        for number in dict.fromkeys((1, max(1, count // 2), math.ceil(count * _LATE))):
            for then in wishes.then:
                yield Aim(on, direction, message, number, count, then)
