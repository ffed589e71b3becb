"""What readers of RocketMQ before 5.3 get that its master has not flushed, and what follows from that."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chaoskit.contract.guarantees.act import Act, Damage
from chaoskit.contract.guarantees.guarantee import Declared, Rule
from chaoskit.contract.guarantees.mechanism import Mechanism, Party, Session
from clusters.rocketmq.artifacts import parse_version
from clusters.rocketmq.guarantees.copies import flushes_each, taken
from clusters.rocketmq.settings import RocketOptions

_READS_FLUSHED = (5, 3)
"""First release that gives readers of a master with SYNC_FLUSH only what is flushed."""


def _read_unflushed(declared: Declared) -> Sequence[Mechanism]:
    options: RocketOptions = declared.options
    if parse_version(options.version) >= _READS_FLUSHED or not flushes_each(options):
        return ()
    why = (
        "before 5.3 readers get messages that the master has not flushed: after a power cut, others are at the "
        "positions that they have read"
    )
    return (taken(declared, why, Damage.FORGETS | Damage.DESTROYS),)


def _unflushed_positions(declared: Declared) -> Sequence[Mechanism]:
    if not _read_unflushed(declared):
        return ()
    why = (
        "before 5.3 readers get messages that the master has not flushed: after a power cut their position is behind "
        "the end of the log, and they go back"
    )
    return (Session(why=why, path=(Party.LEADER,), by=Act.ENDS),)


def _rule(name: str, allows: tuple[str, ...], mechanisms: Callable[[Declared], Sequence[Mechanism]]) -> Rule:
    return Rule(
        name,
        allows,
        mechanisms,
        "set version: 5.5.0",
        "issue 8239 of apache/rocketmq, and its pull request 8240",
        "rocketmq/read-unflushed:v5-2-0",
        "rocketmq/read-unflushed:current",
        known="https://github.com/apache/rocketmq/issues/8239",
        alone=True,
    )


UNFLUSHED_RULES = (
    _rule("rocketmq.read-unflushed", ("truncated", "offset-conflict", "sequence-jump"), _read_unflushed),
    _rule("rocketmq.unflushed-positions", ("redelivered", "rewound"), _unflushed_positions),
)
