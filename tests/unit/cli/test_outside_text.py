"""Text from outside is printed as it is: what looks like rich's markup or an emoji is none."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from chaoskit.base import installing
from chaoskit.cli import doctor
from chaoskit.cli.output.console import progress_console, wide_console
from chaoskit.cli.output.progress import LiveProgress
from chaoskit.contract.event import LoadTick
from chaoskit.contract.hosts.capability import Capability
from chaoskit.model.progress import Progress
from clusters.hosts import capabilities

ODD = "pip install 'chaoskit[disk]' [red]not red[/red] [/] :warning:"


def test_tables_and_lines_keep_brackets(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("a [b]")
    table.add_row(ODD)

    wide_console().print(table)
    wide_console().print(ODD)
    progress_console().print(ODD)

    said = capsys.readouterr()
    assert said.out.count(ODD) == 2
    assert "a [b]" in said.out
    assert ODD in said.err


def test_the_live_line_keeps_brackets() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=200, color_system=None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("chaoskit.cli.output.progress.progress_console", lambda: console)
        with LiveProgress("test[odd]") as progress:
            progress.on(LoadTick(1.0, Progress(), ("kill on [n1]",)))
            assert progress._status is not None
            console.print(progress._status.renderable)

    assert "test[odd]: 1 s  kill on [n1]  0/s" in out.getvalue()


def test_every_console_is_made_in_one_place() -> None:
    folder = Path(doctor.__file__).parent

    assert [path.name for path in sorted(folder.rglob("*.py")) if "import Console" in path.read_text()] == [
        "console.py"
    ]


def test_doctor_prints_a_remedy_as_it_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor, "_findings", lambda: [Capability("disk", False, "no FUSE", ODD, required=False)])

    doctor.command.main([], standalone_mode=False)

    assert ODD in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (subprocess.CalledProcessError(1, "", stderr="Trace:\n  a\nRuntimeError: no FUSE\n"), "RuntimeError: no FUSE"),
        (subprocess.CalledProcessError(3, "a\nlong\nscript", stderr=""), "exit status 3"),
        (subprocess.TimeoutExpired("a\nlong\nscript", 20), "no result within 20 s"),
        (subprocess.TimeoutExpired("x", 20, stderr=b"still \xff here\n"), "still \ufffd here"),
        (OSError(2, "No such file"), "[Errno 2] No such file"),
    ],
)  # fmt: skip
def test_a_failed_attempt_has_a_reason_on_one_line(error: Exception, reason: str) -> None:
    def attempt() -> str:
        raise error

    assert capabilities._attempt("x", attempt, "") == Capability("x", False, reason, "", required=True)


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'chaoskit[disk]'"),
        ({"url": 3}, "pip install 'chaoskit[disk]'"),
        ({"url": "file:///a%20b/c", "dir_info": {"editable": True}}, "pip install -e '/a b/c[disk]'"),
        ({"url": "file:///a", "dir_info": {}}, "pip install '/a[disk]'"),
        ({"url": "file:///a/c.whl", "archive_info": {}}, "pip install 'chaoskit[disk] @ file:///a/c.whl'"),
        (
            {"url": "https://x/c.git", "vcs_info": {"vcs": "git", "requested_revision": "v1", "commit_id": "abc"}},
            "pip install 'chaoskit[disk] @ git+https://x/c.git@v1'",
        ),
        (
            {"url": "https://x/c.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "pip install 'chaoskit[disk] @ git+https://x/c.git@abc'",
        ),
    ],
)
def test_a_remedy_installs_chaoskit_from_where_it_came(origin: object, command: str) -> None:
    assert installing._command("disk", origin) == command


def test_no_other_place_advises_how_to_install_an_extra() -> None:
    root = Path(installing.__file__).parents[2]
    files = [
        path for name in ("chaoskit", "clusters", "nemeses", "spark_analysis") for path in (root / name).rglob("*.py")
    ]

    assert [path.name for path in files if "install 'chaoskit[" in path.read_text()] == []
