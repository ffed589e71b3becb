"""What brokers do not have themselves any more is counted, and nothing else is."""

from __future__ import annotations

import pytest
from notation import history, poll, send

from chaoskit.model.audit import Bounds

SENT = (send(1, at=3), send(2, at=4), send(3, at=5), send(4, "info"), send(5))
READ = poll("auditor", (3, 1), (4, 2), (5, 3))


@pytest.mark.parametrize(
    ("local", "values"),
    [
        (5, [1, 2]),
        (9, [1, 2, 3]),
        (3, None),
        (None, None),
    ],
    ids=["a part", "all that was acknowledged at a known position", "nothing", "no tiered storage"],
)
def test_what_only_the_object_store_had_is_counted(local: int | None, values: list[int] | None) -> None:
    run = history(*SENT, READ, audit=Bounds(3, 9, complete=True, reached=9, local=local))

    assert run.anomalies().get("tiered") == values


def test_what_was_deleted_everywhere_is_not_in_the_object_store() -> None:
    run = history(*SENT, poll("auditor", (5, 3)), audit=Bounds(5, 9, complete=True, reached=9, local=6))

    assert run.anomalies()["tiered"] == [3]
