"""Every installed checker passes the suite that third parties' checkers are held to, and the suite can fail."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from gallery import FEEDS, GALLERY, QUEUES
from gallery_pipelines import unseen

from chaoskit.base import plugins
from chaoskit.contract.checkers.anomaly import Anomaly
from chaoskit.contract.checkers.checker import FINDINGS, Checker, Part
from chaoskit.contract.workloads.datamodel import LOG, QUEUE
from chaoskit.testing.conformance import check_checker
from checkers.log.logs import LogChecker


def _histories(checker: str, *, broken: bool) -> dict[str, Sequence[Part]]:
    plugin = plugins.load("checker", checker, "checker")
    shown = {"queues": QUEUES, "pubsub": FEEDS, "pipelines": {**GALLERY, "unseen": unseen}}.get(checker, GALLERY)
    return {anomaly.name: shown[anomaly.name](broken).parts() for anomaly in plugin.anomalies}


@pytest.mark.parametrize("name", plugins.names("checker"))
def test_a_checker_is_whole(name: str) -> None:
    check_checker(name, _histories(name, broken=True), _histories(name, broken=False))


class _Blind(LogChecker):
    """Finds nothing."""

    def check(self, part: Part) -> pa.Table:
        return FINDINGS.empty_table()


class _Alarmed(LogChecker):
    """Finds loss everywhere."""

    def check(self, part: Part) -> pa.Table:
        return super().check(GALLERY["lost"](True).parts()[0])


class _Strange:
    """Says that it finds what it cannot explain, of a model that it does not judge."""

    anomalies = (Anomaly("odd", "", (QUEUE,), ("unheard-of",)),)
    models = (LOG,)

    def check(self, part: Part) -> pa.Table:
        return part.messages


@pytest.mark.parametrize(
    ("checker", "lines"),
    [
        (_Blind(), ["lost is not found in the history that has it"]),
        (_Alarmed(), ["in a correct log", "lost is found in its sound history"]),
        (
            _Strange(),
            ["odd has no meaning", "odd has no model that the checker declares", "unheard-of", "schema FINDINGS"],
        ),
    ],
)
def test_what_a_checker_lacks_is_told(checker: Checker, lines: list[str]) -> None:
    histories = [_histories("log", broken=broken) for broken in (True, False)]
    with pytest.raises(AssertionError) as raised:
        check_checker(checker, *histories)

    assert [words for words in lines if words not in str(raised.value)] == []
