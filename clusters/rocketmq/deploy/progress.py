"""Where the queues of a topic begin and end, and how far groups of consumers are in them.

Requests and their fields: see `clusters.rocketmq.deploy.admin`.
"""

from __future__ import annotations

from chaoskit.model.place import Place
from clusters.rocketmq.deploy.admin import Server
from clusters.rocketmq.remoting import RocketRefused, ask

_MAX_OFFSET, _MIN_OFFSET, _GROUP_OFFSET, _PULL = 30, 31, 14, 11
_NO_SUCH_OFFSET, _NONE_HERE = 22, (19, 20)
_BY_TAG = 4
_AT_ONCE = 32
_LOOKING = "chaoskit-looks"
"""Name of the group in whose name messages are looked at; it commits nothing."""


def bounds(broker: Server, place: Place, timeout_s: float) -> tuple[int, int]:
    """Return the first offset of a queue, and the one after its last; raises like `ask`.

    Args:
        broker: the master.
        place: topic and number of the queue.
        timeout_s: see `ask`.
    """
    low = ask(broker, _MIN_OFFSET, timeout_s, _where(place)).fields["offset"]
    high = ask(broker, _MAX_OFFSET, timeout_s, _where(place)).fields["offset"]
    return int(low), int(high)


def lag(broker: Server, place: Place, group: str, timeout_s: float) -> int:
    """Return how many messages of a queue a group has not taken yet; see `bounds`."""
    low, high = bounds(broker, place, timeout_s)
    reached = _reached(broker, place, group, timeout_s)
    return max(0, high - max(low, reached or 0))


def waits(broker: Server, place: Place, of: tuple[str, str], timeout_s: float) -> bool:
    """Return whether a group has not passed a message with a tag yet, in a queue of which it takes note only of such
    messages; see `bounds`.

    Args:
        broker: the master.
        place: topic and number of the queue.
        of: the group and the tag.
        timeout_s: see `ask`.
    """
    group, tag = of
    _, high = bounds(broker, place, timeout_s)
    reached = _reached(broker, place, group, timeout_s)
    offset = 0 if reached is None else reached + 1
    how = {"maxMsgNums": _AT_ONCE, "sysFlag": _BY_TAG, "commitOffset": 0, "suspendTimeoutMillis": 0}
    what = {**_where(place), "consumerGroup": _LOOKING, "subscription": tag, "subVersion": 0}
    while offset < high:
        try:
            ask(broker, _PULL, timeout_s, {**what, **how, "queueOffset": offset})
        except RocketRefused as refusal:
            if refusal.code not in _NONE_HERE:
                raise
            offset = max(offset + 1, int(refusal.fields["nextBeginOffset"]))
        else:
            return True
    return False


def _reached(broker: Server, place: Place, group: str, timeout_s: float) -> int | None:
    """Return the offset that a group has committed; None: none."""
    try:
        return int(ask(broker, _GROUP_OFFSET, timeout_s, {**_where(place), "consumerGroup": group}).fields["offset"])
    except RocketRefused as refusal:
        if refusal.code != _NO_SUCH_OFFSET:
            raise
        return None


def _where(place: Place) -> dict[str, str | int]:
    topic, queue = place
    return {"topic": topic, "queueId": queue}
