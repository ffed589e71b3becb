"""Run folders: made whole, found again, refused where they cannot be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chaoskit.base import store
from chaoskit.base.errors import BadInput
from chaoskit.base.store import (
    SCENARIO,
    find_run,
    new_run_folder,
    read_json,
    read_yaml,
    run_name,
    runs,
    write_json,
    write_yaml,
)


def _run(folder: Path, scenario: str = "small") -> Path:
    made = new_run_folder(folder, scenario)
    write_yaml(made / SCENARIO, {"name": scenario})
    return made


def test_a_run_folder_is_named_by_scenario_and_time(tmp_path: Path) -> None:
    folder = new_run_folder(tmp_path / "deep" / "store", "small")

    assert folder.parent == tmp_path / "deep" / "store" / "small"
    assert re.fullmatch(r"\d{8}T\d{6}-[0-9a-f]{6}", folder.name)
    assert (folder / "wal").is_dir()
    assert run_name(folder) == f"small/{folder.name}"


def test_runs_are_no_part_of_the_repository_in_which_they_are_made(tmp_path: Path) -> None:
    new_run_folder(tmp_path, "small")
    new_run_folder(tmp_path / "store", "small")

    assert not (tmp_path / ".gitignore").exists(), "the folder was there before"
    assert (tmp_path / "store/.gitignore").read_text() == "*\n"


def test_latest_is_the_newest_run_of_any_scenario(tmp_path: Path) -> None:
    new_run_folder(tmp_path, "one")
    second = new_run_folder(tmp_path, "two")

    assert (tmp_path / "latest").resolve() == second
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "one", "two"]


def test_latest_moves_with_its_store(tmp_path: Path) -> None:
    folder = _run(tmp_path / "before")

    (tmp_path / "before").rename(tmp_path / "after")

    assert find_run(tmp_path / "after") == tmp_path / "after" / "small" / folder.name


def test_a_run_is_found_by_its_folder_by_latest_and_by_its_store(tmp_path: Path) -> None:
    first, second = _run(tmp_path), _run(tmp_path)

    assert find_run(first) == first
    assert find_run(tmp_path / "latest") == second
    assert find_run(tmp_path) == second


@pytest.mark.parametrize("given", ["", "gone", "small"])
def test_what_is_no_run_is_refused(tmp_path: Path, given: str) -> None:
    new_run_folder(tmp_path, "small")

    with pytest.raises(BadInput, match=r"is not a run folder .*`chaoskit list` shows the runs"):
        find_run(tmp_path / given)


def test_the_runs_of_a_store_are_listed_once_and_oldest_first(tmp_path: Path) -> None:
    made = [_run(tmp_path, name) for name in ("b", "a")]
    for folder, name in zip(made, ("20260102T000000-aaaaaa", "20260101T000000-bbbbbb"), strict=True):
        folder.rename(folder.parent / name)

    assert [run_name(folder) for folder in runs(tmp_path)] == ["a/20260101T000000-bbbbbb", "b/20260102T000000-aaaaaa"]


def test_a_store_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="gone: no such folder"):
        list(runs(tmp_path / "gone"))


def test_a_store_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(BadInput, match="cannot be written: Not a directory; choose another store with --store"):
        new_run_folder(tmp_path / "file", "small")


def test_a_read_only_store_is_refused() -> None:
    with pytest.raises(BadInput, match=r"store /proc/chaos: cannot be written: .*; choose another store with --store"):
        new_run_folder(Path("/proc/chaos"), "small")


def test_a_store_that_is_nearly_full_is_refused_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_SPACE_MIN", 2**63)

    with pytest.raises(
        BadInput, match=r"only \d+ MiB are free and a run may need .* choose another store with --store"
    ):
        new_run_folder(tmp_path, "small")

    assert list(tmp_path.rglob("*-*")) == []


def test_files_are_written_whole_and_read_back(tmp_path: Path) -> None:
    content = {"on": "leader", "at": "8s", "list": [1, None, True], "text": "späť"}

    write_yaml(tmp_path / "a.yaml", content)
    write_json(tmp_path / "a.json", content)

    assert read_yaml(tmp_path / "a.yaml") == content
    assert read_json(tmp_path / "a.json") == content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "a.yaml"]


@pytest.mark.parametrize("damaged", [None, "{"])
def test_a_damaged_file_is_named(tmp_path: Path, damaged: str | None) -> None:
    for name, read in (("a.yaml", read_yaml), ("a.json", read_json)):
        if damaged is not None:
            (tmp_path / name).write_text(damaged)
        with pytest.raises(BadInput, match=f"{name}: cannot be read: "):
            read(tmp_path / name)
