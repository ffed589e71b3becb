"""When those who read outputs had looked before."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, integers, is_one_of, words_of


class Looks:
    """The operations that read outputs.

    Args:
        operations: all operations of a run, in order of `op`.
    """

    def __init__(self, operations: pa.Table) -> None:
        (client, _), (kind, kinds) = (words_of(operations[name]) for name in ("client", "f"))
        self._op = integers(operations["op"])
        self._start_ns = integers(operations["start_ns"])
        reader = client.astype(np.int64) * len(kinds) + kind
        ok = np.flatnonzero(is_one_of(operations["outcome"], ["ok"]))
        self._ok = ok[np.argsort(reader[ok], kind="stable")]
        self._reader, self._reader_of_ok = reader, reader[self._ok]

    def before(self, op: int) -> int:
        """Return when the client of an operation began to look for the last time before, with success; `NONE`: never.

        What the operation was the first to read was usually not there then.
        """
        row = int(np.searchsorted(self._op, op))
        begin, end = np.searchsorted(self._reader_of_ok, (self._reader[row], self._reader[row] + 1))
        mine = self._ok[begin:end]
        at = int(np.searchsorted(mine, row))
        return int(self._start_ns[mine[at - 1]]) if at else NONE
