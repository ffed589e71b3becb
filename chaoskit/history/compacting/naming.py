"""The names of a run under common ids for all clients, and dictionary columns made from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from chaoskit.history.format.record import Records, is_named
from chaoskit.history.recording.recover import ClientLog
from chaoskit.model.operation import SENDING


class Names:
    """All names of a run; maps the ids of different clients to common ones.

    Attributes:
        texts: the name of each id; id 0 means no name.
        by_client: for each log, the common id of each of the client's ids.
    """

    def __init__(self, logs: Sequence[ClientLog]) -> None:
        self._ids: dict[str | None, int] = {None: 0}
        self.by_client = [self._translate(log) for log in logs]
        self.sending = np.array([self._add(f) for f in SENDING])
        self.send, self.begin, self.end = map(self._add, ("send", "begin", "end"))
        self.texts: list[str] = list(map(str, self._ids))

    def column(self, ids: npt.NDArray[np.integer]) -> pa.DictionaryArray:
        """Return a column of names, null for id 0; its dictionary holds only names that occur."""
        used = np.flatnonzero(np.bincount(ids))
        places = np.zeros(len(self.texts), dtype=np.int32)
        places[used] = np.arange(len(used))
        return dictionary(places[ids], [self.texts[index] for index in used], ids == 0)

    def _translate(self, log: ClientLog) -> npt.NDArray[np.int64]:
        used = max((_highest(records) for records in log.segments), default=0)
        names = [*log.names, *[None] * (used - len(log.names))]
        # A lost name is represented by its client and id, so that no two names are merged.
        full_names = (f"?{log.client}:{index}" if name is None else name for index, name in enumerate(names, 1))
        return np.array([0, *map(self._add, full_names)], dtype=np.int64)

    def _add(self, text: str) -> int:
        return self._ids.setdefault(text, len(self._ids))


def _highest(records: Records) -> int:
    kinds = records["delivery"][is_named(records)].max(initial=0)
    return int(max(records["name"].max(initial=0), records["key"].max(initial=0), kinds))


def dictionary(
    indexes: npt.NDArray[np.integer], texts: Sequence[str], null: npt.NDArray[np.bool_] | None = None
) -> pa.DictionaryArray:
    """Return a column of `texts` by index, null where masked."""
    return pa.DictionaryArray.from_arrays(
        pa.array(indexes.astype(np.int32, copy=False), mask=null), pa.array(texts, pa.string())
    )
