"""JUnit XML says of each run what its summary says, whatever characters that has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as Xml

from chaoskit.judge.verdict.check import check_run
from chaoskit.report.junit import Case, junit
from chaoskit.report.run_page import run_page
from chaoskit.report.summary import summary


def test_a_run_is_a_test_case(judged: Path, calm: Path) -> None:
    bad, good = check_run(judged), replace(check_run(calm), replayable=True)
    odd = replace(bad, reasons=("a \x00 & <b> \x1b[1m",))

    root = Xml.fromstring(junit([Case("one", good, calm, 1.5), Case("two", odd, judged, 2)]))  # ours

    (suite,) = root
    assert {name: suite.get(name) for name in ("tests", "failures")} == {"tests": "2", "failures": "1"}
    first, second = suite
    properties = {element.get("name"): element.get("value") for element in first.iter("property")}
    assert properties["chaoskit_seed"] == str(good.seed)
    assert properties["chaoskit_verdict"] == "valid"
    assert properties["chaoskit_run_folder"] == str(calm)
    assert properties["chaoskit_count_acked"] == str(good.counts["acked"])
    assert str(properties["chaoskit_replay"]).endswith(f"/bin/chaoskit replay {calm}")
    assert first.find("failure") is None
    failure = second.find("failure")
    assert failure is not None
    message = failure.get("message") or ""
    assert message.startswith("LOST 3 of 65,965 acknowledged messages, though your settings forbid it; ")
    assert message.endswith("; the run is invalid: a \\x00 & <b> \\x1b[1m")
    assert summary(bad, judged).splitlines()[0] in str(failure.text)


def test_a_report_of_an_imported_history_has_no_replay_command(judged: Path) -> None:
    assert "chaoskit replay" not in run_page(judged)
