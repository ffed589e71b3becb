"""Whatever happens to the files of a run folder: its verdict, or an error that names the file; never a stack trace."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from damage import WAYS
from hypothesis import given
from hypothesis import strategies as st
from killed import killed_run

from chaoskit.base.errors import BadInput
from chaoskit.base.store import find_run
from chaoskit.cli.main import cli
from chaoskit.history.compacting.manifest import FILE, JUDGED, RECORDED, seal, verify
from chaoskit.judge.verdict.check import check_run
from chaoskit.report.run_page import run_page, try_report


@pytest.fixture
def folder(judged: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "run"
    shutil.copytree(judged, copy)
    seal(copy, RECORDED)
    return copy


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "report.html")


@pytest.mark.parametrize("way", WAYS)
def test_a_damaged_file_is_named_or_does_not_matter(way: str, folder: Path, tmp_path: Path) -> None:
    draw = Random(way)
    noticed = []
    for path in _files(folder):
        original = path.read_bytes()
        changed = WAYS[way](original, draw)
        path.unlink() if changed is None else path.write_bytes(changed)
        try:
            run_page(folder)
        except BadInput as error:
            noticed.append((path.name, str(error)))
        path.write_bytes(original)
    assert len(noticed) >= len(_files(folder)) / 2
    assert [said for name, said in noticed if not any(word in said for word in (name, FILE, "verdict"))] == []


def test_what_was_recorded_is_not_judged_once_it_was_changed(folder: Path) -> None:
    (part,) = sorted((folder / "messages.parquet").iterdir())
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)

    with pytest.raises(BadInput, match=r"messages\.parquet.*was changed: its digest is not the one in manifest\.json"):
        check_run(folder)
    (folder / FILE).unlink()
    with pytest.raises(BadInput, match="cannot be read"):
        check_run(folder)  # the page has a checksum, too


def test_what_was_judged_can_be_judged_again(folder: Path) -> None:
    (folder / "verdict.json").write_text("{}")
    with pytest.raises(BadInput, match=r"verdict\.json was changed: .* Run `chaoskit check` on the folder"):
        verify(folder, JUDGED)

    check_run(folder)
    verify(folder, RECORDED, JUDGED)


@pytest.mark.parametrize(
    "content", ["", "[]", "7", '{"recorded": 3}', '{"recorded": {"gone": "x"}}', '{"judged": [1]}']
)
def test_a_damaged_manifest_is_told(content: str, folder: Path) -> None:
    (folder / FILE).write_text(content)

    with pytest.raises(BadInput, match=r"manifest\.json"):
        verify(folder, RECORDED, JUDGED)


def test_a_folder_without_a_manifest_is_not_checked(folder: Path) -> None:
    (folder / FILE).unlink()

    verify(folder, RECORDED, JUDGED)


def test_a_manifest_names_what_counts(folder: Path) -> None:
    named = json.loads((folder / FILE).read_text())

    assert {"operations.parquet", "messages.parquet/part-00000.parquet", "scenario.yaml"} <= set(named[RECORDED])
    assert {"findings.parquet", "verdict.json"} <= set(named[JUDGED])


@pytest.fixture(scope="session")
def folders(calm: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A judged run without faults, and a run that was killed: only its logs are left."""
    return {
        "judged": calm,
        "killed": killed_run(tmp_path_factory.mktemp("store") / "killed" / "20260101T000000-aaaaaa"),
    }


@given(
    kind=st.sampled_from(["judged", "judged", "killed"]), way=st.sampled_from(sorted(WAYS)), draw=st.integers(0, 2**32)
)
def test_no_damage_is_a_stack_trace(
    kind: str, way: str, draw: int, folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = tmp_path_factory.mktemp("damaged")
    folder = store / "run" / "20260101T000000-aaaaaa"
    shutil.copytree(folders[kind], folder)
    (folder / FILE).unlink(missing_ok=True)
    source = Random(draw)
    path = source.choice(_files(folder))
    changed = WAYS[way](path.read_bytes(), source)
    path.unlink() if changed is None else path.write_bytes(changed)

    for arguments in (["list", "--store", str(store)], ["report", str(folder)], ["check", str(folder)]):
        with suppress(BadInput):
            cli.main(arguments, standalone_mode=False)
    assert "report this bug" not in str(try_report(folder))


def test_a_run_whose_faults_were_deleted_is_not_judged_as_one_without_faults(tmp_path: Path) -> None:
    folder = killed_run(tmp_path / "small" / "run")
    check_run(folder)
    (folder / "faults.parquet").unlink()
    (folder / FILE).unlink()

    with pytest.raises(BadInput, match=r"faults\.parquet is missing: without it the faults are unknown"):
        check_run(folder)


def test_the_newest_run_of_a_copied_store_is_found_without_its_link(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "copy"
    newest = store / "scenario" / "20260102T000000-a"
    for run in (newest.with_name("20260101T000000-b"), newest):
        shutil.copytree(folder, run)

    assert find_run(store) == newest.resolve()


def test_the_report_has_every_setting(tmp_path: Path) -> None:
    folder = killed_run(tmp_path / "small" / "run")
    check_run(folder)

    assert "message_size: 100B" in run_page(folder)
