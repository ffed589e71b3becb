"""Mechanisms: how a documented behaviour takes a message. A rule names one; the engine derives from the record whether
it did take *this* message (`chaoskit.judge.explaining`).

Each has a `why`: the setting from which it follows, in words. What a mechanism needs and the record does not hold makes
a finding a doubt, neither an allowance nor an accusation. Durations are ns.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, Flag, auto

from chaoskit.base.quantities import SECOND
from chaoskit.contract.guarantees.act import PARTS_CONNECTIONS, Act, Damage

WRITTEN_BACK_NS = 60 * SECOND
"""How long data may stay in memory only: Linux writes dirty pages back after 30 s (`vm.dirty_expire_centisecs`), which
takes a while."""


class Party(Enum):
    """Somebody on a message's way.

    `PRODUCER`: the client that sent it. `CONSUMER`: the one that received, or lacks, it. `LEADER`: the host that led,
    or owned, the partition at that time. `HOLDERS`: any host that stored it then. `BROKERS`: any host of the system:
    the record does not hold which of them a client talks to.
    """

    PRODUCER = auto()
    CONSUMER = auto()
    LEADER = auto()
    HOLDERS = auto()
    BROKERS = auto()


class Required(Enum):
    """Who must have a message when it is acknowledged.

    `LEADER`: the host that leads. `IN_SYNC`: all replicas that are in sync, as recorded. `HOLDERS`: all hosts that
    store the partition.
    """

    LEADER = auto()
    IN_SYNC = auto()
    HOLDERS = auto()


class Elects(Flag):
    """Which hosts that lack a message may become leader.

    `LAGGING`: one that is in sync, and need not have the message yet. `OUT_OF_SYNC`: one that is not in sync,
    where all that are have gone. `DAMAGED`: one that has lost it, where all others that are in sync have gone.
    """

    NONE = 0
    LAGGING = auto()
    OUT_OF_SYNC = auto()
    DAMAGED = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """A message is gone because each copy that there must have been is: damaged after it was written, or passed over by
    an election of a host that need not have had it.

    Attributes:
        why: the setting from which it follows.
        required: who must have it when it is acknowledged.
        takes: damage that takes a copy.
        in_process: which ends of a process take a copy, because it is in the memory of the process.
        elects: which hosts without it may become leader.
        lag_ns: how long a replica that counts as in sync may lag; None: being in sync says nothing of older messages.
        enough: how many lost copies are enough, although others remain; None: all.
        least: how many hosts have it when it is acknowledged, at least.
        away: of those replicas that must be in sync, how many must have ended for a damaged one to lead again.
        alone: whether a damaged host leads again only if all others that store the partition have gone.
        hosts: the servers that have copies, instead of the hosts that store the partition: what a majority of them does
            not have, because they lost it or were away then, is forgotten.
        anywhere: the hosts of which some have copies, where nobody records which: only if all that were there are
            damaged, surely all copies are.
        leader_counts: whether the copy of the leader must be among those that are gone.
        from_its_end: whether a log loses its end only: a message that is followed by one that is still there was not
            taken.
        tiered: whether `hosts` are an object store, which takes what is copied there, and what the hosts that store the
            partition then delete.
    """

    why: str
    required: Required = Required.IN_SYNC
    takes: Damage = Damage.NONE
    in_process: Act = Act.NONE
    elects: Elects = Elects.NONE
    lag_ns: int | None = 0
    enough: int | None = None
    least: int = 1
    away: int = 0
    alone: bool = False
    hosts: tuple[str, ...] = ()
    anywhere: tuple[str, ...] = ()
    leader_counts: bool = True
    from_its_end: bool = False
    tiered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A message was lost on its way, or where it waited there: a hop was interrupted, or an end of it ended.

    Attributes:
        why: the setting from which it follows.
        path: the parties on its way, in order; each may be interrupted, and each hop between two.
        by: what interrupts it.
        patience_ns: what is late for less than this interrupts nothing.
        longer_ns: how long an interruption must have lasted.
        after_ns: how long after an interruption messages may be lost because of it.
        in_order: whether what follows on the same way does not overtake it: then a message is not lost there of which a
            later one arrived before.
        for_consumer: whether it waits on the way for the consumer that lacks it, although the consumer's own part of
            the way does not count.
        anyone: whether any client of those on the way may have been the one.
        names: the protocol's names of the messages that carry it; empty: any.
    """

    why: str
    path: tuple[Party, ...]
    by: Act = PARTS_CONNECTIONS
    patience_ns: int = 0
    longer_ns: int = 0
    after_ns: int = 0
    in_order: bool = True
    for_consumer: bool = False
    anyone: bool = False
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """A client sent a message again, because its answer may have been lost while it was in flight.

    Attributes:
        why: the setting from which it follows.
        path: the parties between which it was in flight.
        by: what loses an answer.
        patience_ns: how long the client waits for an answer: what is late for less loses none.
        longer_ns: how long an interruption must have lasted.
        after_ns: how long after its answer the message may still be sent again.
        unanswered: whether no answer is lost, but one waits for others: only a message that waited for it for longer
            than `patience_ns` is sent again.
        names: as of `Way`.
    """

    why: str
    path: tuple[Party, ...] = (Party.PRODUCER, Party.LEADER)
    by: Act = PARTS_CONNECTIONS
    patience_ns: int = 0
    longer_ns: int = 0
    after_ns: int = 0
    unanswered: bool = False
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A consumer's session, membership or settlement ended, or could not arrive, between what it had been given and
    what was found.

    Attributes:
        why: the setting from which it follows.
        path: the parties of the session.
        by: what ends it.
        patience_ns: what is late for less than this ends none.
        longer_ns: how long an interruption must have lasted.
        after_ns: how long after an interruption it may show.
        group: whether the interruption of any client concerns all: what one held goes to another.
        process: for what a process of the cluster did by itself: which one; empty: any.
    """

    why: str
    path: tuple[Party, ...] = (Party.CONSUMER, Party.BROKERS)
    by: Act = PARTS_CONNECTIONS
    patience_ns: int = 0
    longer_ns: int = 0
    after_ns: int = 0
    group: bool = False
    process: str = ""


class Measure(Enum):
    """What a limit limits.

    `AGE`: of the message, ns. `HELD`: the time for which a consumer held it, ns. `WAITING`: messages that wait for the
    consumer. `NEWER`: messages of its producer that followed before the consumer received one of them, and its way was
    whole again. `LEFT`: of the message, for which it waited until its consumer was back, ns. `ABSENT`: of the consumer,
    or of all members of its group, ns. `BEHIND`: of a host that was not in sync when a deletion was acknowledged, ns
    from then until it was in sync again; it led the partition afterwards. `CLOCK`: a wall clock of a host that stores
    the partition was ahead. `DELETED`: a fault deleted the log up to a position beyond the message on purpose.
    `SET_BACK`: a fault had the group go on elsewhere on purpose, and it commits again from there on. `SET_AHEAD`: so
    that it passed over what is before. `ANSWER`: of the message, from its only send to its answer, ns. `LED`: another
    host began to lead the partition after what was violated had come to hold. `SHOWN`: the finding itself shows that
    the limit was reached; see its detail.
    """

    AGE = auto()
    HELD = auto()
    NEWER = auto()
    WAITING = auto()
    LEFT = auto()
    ABSENT = auto()
    BEHIND = auto()
    CLOCK = auto()
    DELETED = auto()
    SET_BACK = auto()
    SET_AHEAD = auto()
    ANSWER = auto()
    LED = auto()
    SHOWN = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The record shows that a limit was reached at that time.

    Attributes:
        why: the setting.
        measure: what it limits.
        most: the limit.
        path: for `ABSENT` and `LEFT`: the parties of the session whose interruption counts as absence; for `NEWER`: the
            way that was interrupted meanwhile; empty: it need not have been.
        by, patience_ns: what interrupts the way, as of `Way`.
        whole_group: for `ABSENT`: whether all members must have been away.
    """

    why: str
    measure: Measure
    most: float = 0
    path: tuple[Party, ...] = (Party.CONSUMER, Party.BROKERS)
    by: Act = PARTS_CONNECTIONS
    patience_ns: int = 0
    whole_group: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """It follows from a setting alone.

    Attributes:
        why: the setting.
        topics: the only topics of which it follows; empty: all.
    """

    why: str
    topics: tuple[str, ...] = ()


Mechanism = Copies | Way | Retry | Session | Limit | Choice
