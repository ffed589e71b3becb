"""JUnit XML, which CI systems read: one test case for each run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as Xml

from chaoskit.base.plain import lines, one_line, plain
from chaoskit.judge.verdict.bounds import describe
from chaoskit.judge.verdict.verdict import VALID, Verdict
from chaoskit.report.run_page import REPORT
from chaoskit.report.summary import replay_command, summary

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Case:
    """One run: its name, verdict and folder, and how long it took, s."""

    name: str
    verdict: Verdict
    folder: Path
    took_s: float


def properties(verdict: Verdict, folder: Path) -> dict[str, str]:
    """Return what a CI system should show of a run, whether it passed or failed."""
    verdict = plain(verdict)
    values = {
        "seed": verdict.seed,
        "verdict": verdict.verdict,
        "run_folder": folder,
        "report": folder / REPORT,
        **{f"count_{name}": count for name, count in verdict.counts.items() if count is not None},
        **{f"found_{name}": anomaly.count for name, anomaly in verdict.anomalies.items()},
        **{f"bound_{name}": describe(bounded) for name, bounded in verdict.bounds.items()},
        "longest_unavailable_ms": verdict.availability.get("longest_unavailable_ms"),
    }
    if verdict.replayable:
        values["replay"] = replay_command(folder)
    return {f"chaoskit_{name}": _text(str(value)) for name, value in values.items()}


def run_properties(seed: int, folder: Path) -> dict[str, str]:
    """Return what a CI system should show of a run that is not judged yet."""
    return {f"chaoskit_{name}": _text(str(value)) for name, value in {"seed": seed, "run_folder": folder}.items()}


def junit(cases: Iterable[Case]) -> bytes:
    """Return the XML. A run that is not valid is a failure whose text is its summary."""
    suite = Xml.Element("testsuite", name="chaoskit")
    failures = 0
    for case in cases:
        row = Xml.SubElement(
            suite, "testcase", classname=_text(case.verdict.scenario), name=_text(case.name), time=f"{case.took_s:.3f}"
        )
        listed = Xml.SubElement(row, "properties")
        for name, value in properties(case.verdict, case.folder).items():
            Xml.SubElement(listed, "property", name=name, value=value)
        if case.verdict.verdict != VALID:
            failures += 1
            reasons = "; ".join(case.verdict.reasons[:1])
            message = f"{case.verdict.headline}; the run is {case.verdict.verdict}: {reasons}"
            failure = Xml.SubElement(row, "failure", message=_text(one_line(message)), type=case.verdict.verdict)
            failure.text = _text(summary(case.verdict, case.folder))
    suite.attrib |= {"tests": str(len(suite)), "failures": str(failures), "errors": "0", "skipped": "0"}
    root = Xml.Element("testsuites")
    root.append(suite)
    Xml.indent(root)
    document: bytes = Xml.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _text(said: str) -> str:
    """Return text as it may be shown, without characters that XML cannot hold."""
    return _NOT_XML.sub("?", lines(said))
