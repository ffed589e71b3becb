"""The binary layout of the write-ahead log, shared by its writer and its reader.

A segment is a header of `HEADER_BYTES` followed by 72-byte records, little-endian. One record is one
event; its kind determines which fields are used (the others are zero):

    kind      code     partition  name   key  op     value  position  intended_ns  start_ns  end_ns   delivery
    SEND     f         partition  topic  key  op     value            intended     sent
    INVOKE                        f           op                                   start
    COMPLETE  outcome             error       op            position                         end
    RECEIVED  payload  partition  topic  key  op     value  position  intended     sent      received delivery
    AUDIT     complete partition  topic              low    end       reached      local+1  (end NO_POSITION: drained)
    OBSERVED  kind     partition  topic  name op     value  position                                       name

The code of a SEND is an index into `operation.SENDING`, that of an OBSERVED one into `row.KINDS`; one past the last is
a kind whose name's id stands in `delivery`. `name` and `key` are ids into the client's names file (0: none);
`op` counts the client's own operations from 0; times are CLOCK_MONOTONIC ns of the machine, not yet of the run.

`mark`, the last field, is the record's byte offset in its file and is stored last, so an incomplete
record does not have it and is never read as data. The first field, `kind`, is never 0: a record that
spans two pages is also rejected if only its second page reached the disk.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from chaoskit.model.observations.row import KINDS

MAGIC = b"CHAOSWAL"
VERSION = 1
HEADER_BYTES = 4096  # one page: the longest file name fits, and records stay 8-byte aligned
HEADER = struct.Struct("<8sIiI")
"""Magic, version, process, length of the client's name; the UTF-8 name follows."""

SEND, INVOKE, COMPLETE, RECEIVED, AUDIT, OBSERVED = range(1, 7)

RECORD = np.dtype(
    [
        ("kind", "u1"),
        ("code", "u1"),
        ("unused", "<u2"),
        ("partition", "<i4"),
        ("name", "<u4"),
        ("key", "<u4"),
        ("op", "<i8"),
        ("value", "<i8"),
        ("position", "<i8"),
        ("intended_ns", "<i8"),
        ("start_ns", "<i8"),
        ("end_ns", "<i8"),
        ("delivery", "<i4"),
        ("mark", "<u4"),
    ]
)
RECORD_BYTES = RECORD.itemsize
Records = npt.NDArray[Any]
"""A structured array of dtype `RECORD`."""

# One struct per kind, so that a store packs only the fields that are used.
SEND_FIELDS = struct.Struct("<BB2xiIIqq8xqq12xI")
INVOKE_FIELDS = struct.Struct("<B7xI4xq24xq12xI")
COMPLETE_FIELDS = struct.Struct("<BB6xI4xq8xq16xq4xI")
RECEIVED_FIELDS = struct.Struct("<BB2xiIIqqqqqqiI")
AUDIT_FIELDS = struct.Struct("<BB2xiI12xqqqq12xI")


def is_named(records: Records) -> npt.NDArray[np.bool_]:
    """Return for each record whether it is an observation of a kind with a name of its own."""
    named: npt.NDArray[np.bool_] = (records["kind"] == OBSERVED) & (records["code"] == len(KINDS))
    return named


NO_POSITION = NO_TIME = -(1 << 63)
"""An unknown position or time; the only int64 that no system and no clock produces."""
NO_DELIVERY = -(1 << 31)
"""An unknown delivery count: the system does not report one."""
