"""Run folders of other users: one clear line; and what root makes by sudo belongs to who called sudo."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from generated import generated
from nobody import BECOME, NOBODY, chaoskit, needs_root, open_folder, skip_unless_reachable

from chaoskit.base import owner
from chaoskit.base.journal import Journal
from chaoskit.base.store import new_run_folder
from chaoskit.cli.output.sweep_tables import write_table
from chaoskit.judge.verdict.check import check_run
from chaoskit.report.run_page import write_report
from chaoskit.scenario.files import find_sweep
from chaoskit.search.sweep import Results, load_sweep


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder of root's that others may read."""
    with open_folder() as folder:
        yield folder


@pytest.fixture
def run(shared: Path) -> Path:
    """A judged run of root's that others may read."""
    folder = generated(shared / "store" / "root" / "20260101T000000-aaaaaa", messages=1_000, faults=0)
    check_run(folder)
    return folder


@needs_root
def test_another_user_may_look_at_what_others_may_read(run: Path) -> None:
    skip_unless_reachable()

    done = chaoskit(BECOME, "list", "--store", str(run.parents[1]))

    assert done.returncode == 0, done.stderr
    assert run.name in done.stdout


@needs_root
@pytest.mark.parametrize("secret", ["", "operations.parquet", "scenario.yaml", "verdict.json", "manifest.json", "."])
def test_another_user_is_told_the_file_its_owner_and_the_remedy(run: Path, secret: str) -> None:
    skip_unless_reachable()
    if secret:
        (run / secret).chmod(0o700 if secret == "." else 0o600)

    done = chaoskit(BECOME, "check", str(run))

    assert done.returncode == 254
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    line = done.stderr
    named = run / secret if secret not in {"", "."} else run
    assert line.startswith(f"error: {named}")
    assert "Permission denied; it belongs to root. Run chaoskit with sudo, or" in line


@needs_root
def test_who_may_not_heal_is_told_who_may(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skip_unless_reachable()
    state = shared / "state"
    monkeypatch.setenv("CHAOSKIT_STATE", str(state))
    with Journal("run-1") as journal:
        journal.record("vanished", lab="a")
    for folder in (state, journal.path.parent):
        folder.chmod(0o755)

    done = chaoskit(BECOME, "heal", CHAOSKIT_STATE=str(state))

    assert done.returncode == 254
    assert done.stderr == (f"error: {journal.path}: the journal of a run that root started; run `sudo chaoskit heal`\n")


@pytest.fixture
def by_sudo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_UID", str(NOBODY))
    monkeypatch.setenv("SUDO_GID", str(NOBODY))


@needs_root
@pytest.mark.usefixtures("by_sudo")
def test_what_a_run_made_belongs_to_who_called_sudo(tmp_path: Path) -> None:
    before = tmp_path / "before"
    before.mkdir()
    outside = tmp_path / "outside"
    outside.write_text("root's")
    folder = new_run_folder(before / "store", "scenario")
    (folder / "logs").mkdir()
    (folder / "logs" / "n1").write_text("log")
    (folder / "link").symlink_to(outside)
    (folder / "linked").symlink_to(before)
    os.link(outside, folder / "hard")
    owner.give_all(folder)

    made = [before / "store", folder.parent, folder, folder / "wal", folder / "logs" / "n1", folder / "link"]
    assert {path.lstat().st_uid for path in [*made, before / "store" / "latest"]} == {NOBODY}
    assert {path.lstat().st_gid for path in made} == {NOBODY}
    assert [path.lstat().st_uid for path in (before, outside, tmp_path)] == [0, 0, 0]


@needs_root
@pytest.mark.usefixtures("by_sudo")
def test_what_is_written_beside_a_run_belongs_to_who_called_sudo(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="pip install 'chaoskit[report]'")
    tables, page = tmp_path / "new" / "tables", tmp_path / "page.html"
    sweep = load_sweep(find_sweep("sweeps/dedup"), 1, ())

    write_report(run, page)
    write_table(sweep, {cell.name: Results() for cell in sweep.cells}, tables)

    made = [page, tables, tables.parent, *tables.iterdir()]
    assert [path.lstat().st_uid for path in made] == [NOBODY] * 5


@needs_root
@pytest.mark.usefixtures("by_sudo")
def test_folders_of_others_stay_theirs(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "file").write_text("")
    os.chown(folder, 1234, 1234)

    owner.give_all(folder)

    assert (folder.stat().st_uid, (folder / "file").stat().st_uid) == (1234, 0)


@needs_root
@pytest.mark.parametrize(("user", "group"), [("", ""), ("0", "0"), ("x", "1"), ("-1", "1")])
def test_without_sudo_nothing_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: str, group: str) -> None:
    monkeypatch.setenv("SUDO_UID", user)
    monkeypatch.setenv("SUDO_GID", group)

    owner.give_all(tmp_path)

    assert tmp_path.stat().st_uid == 0
