"""What is promised, and the one rule."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.guarantees.act import Damage
from chaoskit.contract.guarantees.guarantee import Declared, Guarantees, Rule
from chaoskit.contract.guarantees.mechanism import Copies, Mechanism, Required


def _forgets(declared: Declared) -> Sequence[Mechanism]:
    if declared.options.fsync:
        return ()
    why = "fsync: false: a message is acknowledged before it is on the disk"
    return (Copies(why=why, required=Required.LEADER, takes=Damage.FORGETS, from_its_end=True),)


GUARANTEES = Guarantees(
    [
        Rule(
            id="tinylog.no-fsync",
            allows=("lost", "truncated"),
            mechanisms=_forgets,
            remedy="set fsync: true",
            source="tinylog/server.py, Log.sync",
            shown="tinylog.yaml:forgets",
            control="tinylog.yaml:keeps",
        )
    ],
    lambda _: {"lost": "a message is written to a file before it is acknowledged"},
)
