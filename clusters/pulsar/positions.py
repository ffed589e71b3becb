"""Message positions: ledger, entry and batch index, packed into 63 bits in an order-preserving way.

| bits | what | largest |
|---|---|---|
| 62-39 | ledger id | 16 million |
| 38-12 | entry in the ledger | 134 million |
| 11-0 | index in the entry's batch; 0 without a batch | 4095 |

Ledger ids ascend across the whole cluster, so later ledgers of a topic have higher ids. Positions are not dense: there
is a gap between the last message of an entry and the first one of the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chaoskit.contract.systems.service import ServiceError

BATCH_BITS, ENTRY_BITS, LEDGER_BITS = 12, 27, 24
BATCH_MAX = 1 << BATCH_BITS
"""Maximum number of messages in a batch."""


def pack(ledger: int, entry: int, batch_index: int) -> int:
    """Return the position of a message; a batch index of -1 means that it is not in a batch.

    Raises:
        ServiceError: a part does not fit into its bits, or is negative.

    >>> pack(0, 0, -1), pack(0, 0, 7), pack(0, 1, 0), pack(1, 0, 0) > pack(0, 2**27 - 1, 4095)
    (0, 7, 4096, True)
    """
    index = max(batch_index, 0)
    if not (0 <= ledger < 1 << LEDGER_BITS and 0 <= entry < 1 << ENTRY_BITS and index < BATCH_MAX):
        raise ServiceError(f"position {ledger}:{entry}:{batch_index} does not fit into 63 bits")
    return ledger << (ENTRY_BITS + BATCH_BITS) | entry << BATCH_BITS | index


def unpack(position: int) -> tuple[int, int, int]:
    """Return ledger, entry and batch index of a position.

    >>> unpack(pack(12, 345, 6))
    (12, 345, 6)
    """
    entry = position >> BATCH_BITS
    return entry >> ENTRY_BITS, entry & ((1 << ENTRY_BITS) - 1), position & (BATCH_MAX - 1)


def describe(position: int) -> str:
    """Return a position as Pulsar's tools write it: ledger and entry, and the index in a batch if it is not the first.

    >>> describe(pack(12, 345, -1)), describe(pack(12, 345, 6))
    ('12:345', '12:345:6')
    """
    ledger, entry, index = unpack(position)
    return f"{ledger}:{entry}" + (f":{index}" if index else "")


def following(ledgers: Sequence[tuple[int, int]], position: int) -> Iterator[tuple[int, int]]:
    """Yield ledger and entry of each entry that begins at or after a position.

    Args:
        ledgers: ids and numbers of entries of the ledgers, in order.
        position: the position.

    >>> list(following([(1, 2), (4, 1)], pack(1, 0, 0) + 1))
    [(1, 1), (4, 0)]
    """
    for ledger, count in ledgers:
        for entry in range(count):
            if pack(ledger, entry, 0) >= position:
                yield ledger, entry
