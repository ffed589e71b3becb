"""What is promised, and the one rule."""

from __future__ import annotations

from collections.abc import Sequence

from chaoskit.contract.guarantees.act import PARTS_CONNECTIONS, Act
from chaoskit.contract.guarantees.guarantee import Declared, Guarantees, Rule
from chaoskit.contract.guarantees.mechanism import Mechanism, Party, Way
from tinymesh.client import RESENDS


def _best_effort(declared: Declared) -> Sequence[Mechanism]:
    if declared.producer.get(RESENDS):
        return ()
    why = "resends: false: a datagram is sent once, and nobody tells whether it arrived"
    path = (Party.PRODUCER, Party.CONSUMER)
    return (Way(why=why, path=path, by=PARTS_CONNECTIONS | Act.DROPS, in_order=False),)


GUARANTEES = Guarantees(
    [
        Rule(
            id="tinymesh.best-effort",
            allows=("missed",),
            mechanisms=_best_effort,
            remedy="set producer: {resends: true}",
            source="tinymesh/publisher.py, Publisher.send",
            shown="tinymesh.yaml:cut",
            control="tinymesh.yaml:cut-resends",
        )
    ],
    lambda _: {
        "lost": "a message is sent until every subscriber has taken it, or has ended",
        "missed": "a healthy network of one machine loses nothing",
    },
)
