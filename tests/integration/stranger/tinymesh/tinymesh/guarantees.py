"""What is promised, and the one rule."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.guarantee import Declared, Effect, Guarantees, Rule
from tinymesh.client import RESENDS


def _best_effort(declared: Declared, effects: Sequence[Effect]) -> str:
    if declared.producer.get(RESENDS) or not any(effect.on_links or effect.abrupt for effect in effects):
        return ""
    return "resends: false: a datagram is sent once, and nobody tells whether it arrived"


GUARANTEES = Guarantees(
    [
        Rule(
            id="tinymesh.best-effort",
            allows=("missed",),
            applies=_best_effort,
            remedy="set producer: {resends: true}",
            source="tinymesh/publisher.py, Publisher.send",
            shown="tinymesh.yaml:cut",
            control="tinymesh.yaml:cut-resends",
            anywhere=True,
        )
    ],
    lambda _: {
        "lost": "a message is sent until every subscriber has taken it, or has ended",
        "missed": "a healthy network of one machine loses nothing",
    },
)
