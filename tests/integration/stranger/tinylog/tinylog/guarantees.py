"""What is promised, and the one rule."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.guarantee import Damage, Declared, Effect, Guarantees, Rule


def _forgets(declared: Declared, effects: Sequence[Effect]) -> str:
    if declared.options.fsync or not any(effect.damage & Damage.FORGETS for effect in effects):
        return ""
    return "fsync: false: a message is acknowledged before it is on the disk"


GUARANTEES = Guarantees(
    [
        Rule(
            id="tinylog.no-fsync",
            allows=("lost", "truncated"),
            applies=_forgets,
            remedy="set fsync: true",
            source="tinylog/server.py, Log.sync",
            shown="tinylog.yaml:forgets",
            control="tinylog.yaml:keeps",
        )
    ],
    lambda _: {"lost": "a message is written to a file before it is acknowledged"},
)
