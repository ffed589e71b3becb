"""No text of a system steers a terminal, forges a line or reverses writing, whichever door it leaves through."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

from chaoskit.base.errors import BadInput
from chaoskit.base.plain import below, lines, one_line, plain
from chaoskit.cli import main
from chaoskit.cli.output.console import Grid, progress_console, wide_console
from chaoskit.cli.output.progress import LiveProgress
from chaoskit.cli.output.saying import complain, say
from chaoskit.cli.output.summary import show_summary
from chaoskit.contract.event import FaultProved
from chaoskit.interop.jepsen.edn import read_all, write
from chaoskit.judge.verdict.verdict import Found, Verdict
from chaoskit.report.html import render
from chaoskit.report.junit import Case, junit
from chaoskit.testing.result import Run

FORGED = "VALID  fake/run"
ODD = f"\x1b[2J\x1b[31m\x1b]0;pwned\x07\r\n{FORGED}\u202e\x85\u2028{FORGED}\x0b{FORGED}\u2067"
SHOWN = ODD.encode("unicode_escape").decode()


def _is_clean(said: str) -> bool:
    steering = [char for char in said if char != "\n" and (ord(char) < 32 or char in "\x7f\x85\u2028\u202e\u2067")]
    return not steering and not any(line.startswith(FORGED) for line in said.splitlines())


def _verdict() -> Verdict:
    fault = {
        "kind": "kill", "targets": ["n1" + ODD], "effective": True, "healed": True, "evidence": ODD, "at_ms": 1.0,
        "undone_at_ms": 2.0, "healed_at_ms": 3.0, "consequence": {"out_of_sync": ["n2"], "membership": [
            {"what": "out-of-sync", "host": ODD, "partition": ODD, "at_ms": 2.0, "until_ms": None}]},
    }  # fmt: skip
    example = {"topic": ODD, "partition": 0, "value": 3, "op": 1, "operation": ODD, "detail": ODD}
    cause = {"rule": "r", "what": ODD, "count": 1, "known": "", "chain": ODD, "faults": [0]}
    return Verdict(
        run="a/b" + ODD,
        scenario=ODD,
        seed=7,
        verdict="unknown",
        reasons=(ODD,),
        counts={"sent": 9, "acked": 9, "failed": 0, "indeterminate": 0, "received": 9},
        audit={"complete": False, "end_positions": {ODD: 9}, "unread": {ODD: {"from": 1, "to": 2}}},
        anomalies={"lost": Found(1, True, ODD, ODD, (1.0, 2.0), (example,), (cause,))},
        faults=(fault,),
        liveness={"recovered": True, "bound_s": 60.0, "took_s": 3.1, "group": {"behind": [ODD], "took_s": 1.0}},
        availability={"longest_unavailable_ms": 250.0, "recovered_after_heal_ms": 12.0},
        latency={"send": {}, "end_to_end": {}},
        rates={"sends_per_s": 1.0},
    )


def test_what_is_escaped_stays_readable() -> None:
    assert one_line("a\tb\nc\\n") == "a\\tb\\nc\\n"
    assert lines("a\tb\nc\x1b") == "a\tb\nc\\x1b"
    assert below("a\nb\x07\nc") == "a\n  b\\x07\n  c"
    assert one_line("naïve 日本語 ✓ \udcff") == "naïve 日本語 ✓ \\udcff"
    assert plain({"a\n": ["\x1b", (1, None, Found(1, True, "\r"))]}) == {
        "a\\n": ["\\x1b", (1, None, Found(1, True, "\\r"))]
    }


def test_lines_and_complaints_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    say(ODD, ODD)
    say()
    say(ODD, err=True)
    complain(f"2 problems\n{ODD}")

    said = capsys.readouterr()
    assert said.out == f"{SHOWN}\n{SHOWN}\n\n"
    assert _is_clean(said.err)
    assert said.err.startswith(f"{SHOWN}\n2 problems\n  \\x1b[2J")


def test_colours_of_chaoskit_are_kept() -> None:
    @click.command()
    def command() -> None:
        say(ODD, fg="red", bold=True)

    said = CliRunner().invoke(command, color=True).output

    assert said == f"\x1b[31m\x1b[1m{SHOWN}\x1b[0m\n"


def test_tables_and_consoles_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    table = Grid("a" + ODD)
    table.add_column(ODD)
    table.add_row(ODD, "fine")

    wide_console().print(table, soft_wrap=True)
    wide_console().print("x\x1b[2J\x07 \u202e")
    progress_console().print("\x1b]0;pwned\x07")

    said = capsys.readouterr()
    assert _is_clean(said.out)
    assert said.err == "\\x1b]0;pwned\\x07\n"


def test_progress_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveProgress("title" + ODD) as progress:
        progress.on(FaultProved(0, "kill", ("n1" + ODD,), ODD))

    assert _is_clean(capsys.readouterr().err)


@pytest.mark.parametrize(("details", "lines"), [(False, 10), (True, 20)])
def test_a_summary_is_escaped(capsys: pytest.CaptureFixture[str], details: bool, lines: int) -> None:
    show_summary(_verdict(), Path("/store" + ODD.replace("/", "")), details=details)

    said = capsys.readouterr().out
    assert _is_clean(said)
    assert len(said.splitlines()) > lines
    assert sum(line.startswith("VALID") for line in said.splitlines()) <= 1


def test_a_failed_test_is_escaped() -> None:
    with pytest.raises(AssertionError) as failed:
        Run(Path("/x"), _verdict()).assert_valid()

    assert _is_clean(str(failed.value))


def test_junit_is_escaped() -> None:
    written = junit([Case(ODD, _verdict(), Path("/x"), 1.0)]).decode()

    assert _is_clean(written)
    assert "pwned\\x07" in written


def test_pages_are_escaped() -> None:
    spec: dict[str, Any] = {"description": ODD}
    figure = {"title": ODD, "spec": spec, "note": ODD, "id": 0}
    nothing = SimpleNamespace(round_trips=[], throughputs=[], fates=[], lacking=[ODD])
    page = render("side_by_side.html.j2", title=ODD, found=nothing, figures=[figure], size=str)

    body = page[: page.rindex("<script>")]
    assert not [char for char in body if char in "\x1b\x07\u202e\u2067\x85"]
    text = body[body.index("application/json") :]
    assert json.loads(text[text.index("{") : text.index("</script>")])["description"] == lines(ODD)


@pytest.mark.parametrize("error", [BadInput(f"x {ODD}"), RuntimeError(f"x {ODD}"), click.UsageError(f"x {ODD}")])
def test_errors_are_escaped(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(main, "check_packages", fail)

    assert main._exit_code() in (254, 255)
    assert _is_clean(capsys.readouterr().err)


def test_a_text_in_edn_stays_on_its_line_and_is_read_as_it_was() -> None:
    assert _is_clean(write(ODD))
    assert list(read_all(write(ODD))) == [ODD]


def test_verbs_print_from_one_place() -> None:
    """What is printed by another way may steer a terminal."""
    folder = Path(main.__file__).parent
    texts = {path.name: path.read_text() for path in sorted(folder.rglob("*.py"))}

    assert [name for name, text in texts.items() if "Table(" in text and name != "console.py"] == []
    assert [name for name, text in texts.items() if "click.secho(" in text] == ["saying.py"]
    for name, text in texts.items():
        for part in text.split("click.echo(")[1:] if name != "saying.py" else ():
            assert part.startswith(("json.dumps(", 'f"\\r')), name


def test_progress_of_a_test_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    from chaoskit.testing.showing import PrintedLines  # noqa: PLC0415

    said = io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)
    PrintedLines().on(FaultProved(0, "kill", ("n1",), ODD))

    assert _is_clean(said.getvalue())
