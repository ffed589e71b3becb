"""How far groups are in the queues of a broker that answers what the test says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from clusters.rocketmq.deploy import progress
from clusters.rocketmq.remoting import RemotingAnswer, RocketRefused

BROKER = ("10.0.0.1", 10911)
PLACE = ("t", 0)


class _Broker:
    """A queue from offset 10 to 100.

    Args:
        reached: what the group has committed; None: nothing.
        tagged: offsets of the messages with the tag that is looked for.
    """

    def __init__(self, reached: int | None, tagged: tuple[int, ...] = ()) -> None:
        self._reached = reached
        self._tagged = tagged

    def ask(self, server: Any, code: int, timeout_s: float, fields: Mapping[str, Any]) -> RemotingAnswer:
        if code == 11:
            offset = int(fields["queueOffset"])
            if any(offset <= tagged < offset + 32 for tagged in self._tagged):
                return RemotingAnswer({}, b"")
            raise RocketRefused(20, "none with this tag", {"nextBeginOffset": str(offset + 32)})
        if code == 14 and self._reached is None:
            raise RocketRefused(22, "not found", {})
        return RemotingAnswer({"offset": str({30: 100, 31: 10, 14: self._reached}[code])}, b"")


@pytest.mark.parametrize(("reached", "lag"), [(None, 90), (0, 90), (40, 60), (100, 0), (120, 0)])
def test_the_lag_is_what_a_group_has_not_taken(reached: int | None, lag: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "ask", _Broker(reached).ask)

    assert progress.lag(BROKER, PLACE, "g", 1.0) == lag


@pytest.mark.parametrize(
    ("reached", "tagged", "waits"),
    [
        (None, (), False),
        (None, (10,), True),
        (50, (50,), False),
        (50, (51,), True),
        (50, (99,), True),
        (99, (99,), False),
    ],
)
def test_only_a_message_behind_what_was_reached_waits(
    reached: int | None, tagged: tuple[int, ...], waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "ask", _Broker(reached, tagged).ask)

    assert progress.waits(BROKER, PLACE, ("g", "ck"), 1.0) is waits


def test_another_refusal_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> RemotingAnswer:
        raise RocketRefused(1, "broken", {})

    monkeypatch.setattr(progress, "ask", refuse)
    with pytest.raises(RocketRefused, match="broken"):
        progress.lag(BROKER, PLACE, "g", 1.0)
