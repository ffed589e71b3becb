"""How many messages of each kind passed a tap, as evidence tells it."""

from __future__ import annotations

import re
from collections.abc import Mapping

_HOST = re.compile(r"^(?:so far )?(?P<host>[\w.-]+) passed (?P<kinds>.+)$")
_KIND = re.compile(r"(?P<of>request|response) (?P<message>\S+) (?P<count>\d+)")
_NOTHING = "nothing"


def words(tallies: Mapping[str, Mapping[str, int]]) -> str:
    """Return the evidence of hosts: what their taps counted, by direction and name.

    >>> words({"n1": {"request Fetch": 20, "response Fetch": 19}, "n2": {}})
    'n1 passed request Fetch 20, response Fetch 19; n2 passed nothing'
    """
    told = {
        host: ", ".join(f"{kind} {count}" for kind, count in sorted(tally.items())) or _NOTHING
        for host, tally in tallies.items()
    }
    return "; ".join(f"{host} passed {kinds}" for host, kinds in told.items())


def read(evidence: str) -> Mapping[tuple[str, str, str], int]:
    """Return the counts of the last census in an evidence, by host, direction and name.

    >>> read("so far n1 passed request Fetch 2; n1 passed request Fetch 20, request basic.ack 3; the rule has ended")
    {('n1', 'request', 'Fetch'): 20, ('n1', 'request', 'basic.ack'): 3}
    """
    found: dict[tuple[str, str, str], int] = {}
    for part in filter(None, map(_HOST.match, evidence.split("; "))):
        for kind in _KIND.finditer(part["kinds"]):
            found[part["host"], kind["of"], kind["message"]] = int(kind["count"])
    return found
