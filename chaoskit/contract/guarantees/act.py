"""What a fault did, and to whom: the facts from which explanations are derived, in place of a fault's kind."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import Flag, auto
from fnmatch import fnmatchcase


class Damage(Flag):
    """What a fault may do to the data on a host.

    `FORGETS`: data that was not fsynced is lost. `DESTROYS`: fsynced data may be lost, too. `CORRUPTS`: files are
    modified without the system's knowledge.
    """

    NONE = 0
    FORGETS = auto()
    DESTROYS = auto()
    CORRUPTS = auto()


class Act(Flag):
    """What a fault does to its targets, or to the packets between them and their peers.

    `ENDS`: processes end without a shutdown. `VANISHES`: hosts are gone without a word, and the other ends of their
    connections do not know it. `STOPS`: processes shut down in order, and start again. `SILENCES`: for a
    while targets do nothing and answer nobody. `HANGS`: clients do nothing, but their libraries go on and keep their
    connections. `SLOWS`: targets, or links, are late by an unknown time. `MOVES`:
    leaders or replicas move away from targets. `CUTS`: no packet passes between two sides. `BREAKS`: connections break.
    `DROPS`: some packets do not arrive, or arrive out of order: TCP repairs that, a datagram is gone. `DELAYS`: packets
    arrive later by a known time. `MESSAGES`: something happens to single messages of the system's protocol. `NONE`:
    nothing that anybody notices, such as a snapshot, a wrong clock or counting.
    """

    NONE = 0
    ENDS = auto()
    VANISHES = auto()
    STOPS = auto()
    SILENCES = auto()
    HANGS = auto()
    SLOWS = auto()
    MOVES = auto()
    CUTS = auto()
    BREAKS = auto()
    DROPS = auto()
    DELAYS = auto()
    MESSAGES = auto()


PARTS_CONNECTIONS = Act.ENDS | Act.STOPS | Act.SILENCES | Act.MOVES | Act.CUTS | Act.BREAKS | Act.MESSAGES
"""What may end a connection, or make a client give up waiting for an answer, whatever its time-outs are."""

LATE = Act.SLOWS | Act.DELAYS
"""What ends a connection only if it is late for longer than somebody waits."""


@dataclass(frozen=True, slots=True)
class Messages:
    """What a fault did to single messages of the system's protocol.

    Attributes:
        name: name of the request, also where its answers are meant; `*`: any.
        answers: whether its answers are meant rather than the requests.
        client: pattern of the names of the clients whose messages are meant.
        most: how many at most; None: any number.
        loses: whether the message, or its connection, is lost.
        doubles: whether it arrives twice.
        fails: whether an answer becomes an error.
        late_ns: how late it arrives; None: until another message, at an unknown time.
    """

    name: str
    answers: bool
    client: str = "*"
    most: int | None = None
    loses: bool = False
    doubles: bool = False
    fails: bool = False
    late_ns: int | None = 0

    def among(self, names: Collection[str]) -> bool:
        """Return whether messages with some names are meant; no names: any."""
        return not names or self.name == "*" or self.name in names

    def of(self, client: str) -> bool:
        """Return whether messages of a client of the workload are meant: their names contain that of the client, and no
        further digit of a number behind it."""
        if self.client == "*" or not client or fnmatchcase(client, self.client):
            return True
        return re.search(rf"{re.escape(client)}(?!\d)", self.client) is not None
