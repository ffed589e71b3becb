"""Findings of digested runs, of which a row stands for several messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.latency import Ints
from chaoskit.contract import installed
from chaoskit.contract.checkers.anomaly import Gone
from chaoskit.history.reading.reader import History
from chaoskit.judge.digested.messages import Digested, DigestFindings
from chaoskit.judge.explaining.record import DigestRecord
from chaoskit.judge.subject.subject import Subject
from chaoskit.model.place import Place

_PARTLY = "a fault explains it only if it was written at one of the times at which it may have been"


@dataclass(frozen=True, slots=True)
class Several:
    """Findings of which a row stands for several messages.

    Attributes:
        messages: for how many each row stands.
        expanded: returns judged findings with a row for each message.
        digest: what is known of the messages.
    """

    messages: Ints
    expanded: Callable[[pa.Table], pa.Table]
    digest: DigestRecord


def digest_of(digested: Digested, digest_findings: DigestFindings, places: Sequence[Place]) -> DigestRecord:
    """Return what is known of the messages of a digested run: at which positions those are that a finding names, and
    where blocks are of which something is still there.

    Args:
        digested: the digests.
        digest_findings: the findings.
        places: topic and partition of each route.
    """
    kept: dict[Place, tuple[Ints, Ints]] = {}
    values = digest_findings.findings["value"].drop_null().to_numpy()
    for route, place in enumerate(places):
        done_ns, lowest = digested.kept_blocks(route)
        kept[place] = (
            np.append(kept[place][0], done_ns) if place in kept else done_ns,
            (np.append(kept[place][1], lowest) if place in kept else lowest),
        )
    return DigestRecord(dict.fromkeys(places, digested.highest(values)), kept)


def sure_of(subject: Subject, history: History, digest_findings: DigestFindings, digest: DigestRecord) -> pa.Table:
    """Return findings, as doubts where a fault explains them only at some of the times that they may have."""
    one = np.ones(digest_findings.findings.num_rows, np.int64)
    narrow, wide = (
        subject.explain(rows, history, history.placements, one, digest).findings["rule"]
        for rows in (digest_findings.findings, digest_findings.widest)
    )
    open_ = pc.and_(pc.is_null(narrow), pc.is_valid(wide)).combine_chunks()
    names = pc.if_else(open_, installed.gone(Gone.UNSEEN)[0], digest_findings.findings["anomaly"].cast(pa.string()))
    details = pc.if_else(open_, _PARTLY, digest_findings.findings["detail"].cast(pa.string()))
    findings = digest_findings.findings
    for name, column in (("anomaly", names), ("detail", details)):
        index = findings.schema.get_field_index(name)
        findings = findings.set_column(index, findings.schema.field(index), column.dictionary_encode())
    return findings
