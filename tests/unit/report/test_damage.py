"""Whatever happens to the files of a run folder: its verdict, or an error that names the file; never a stack trace."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.history.manifest import FILE, JUDGED, RECORDED, seal, verify
from chaoskit.judge.judging import check_run
from chaoskit.report.run_page import run_page


def _flipped(content: bytes, draw: Random) -> bytes:
    changed = bytearray(content or b"x")
    changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


WAYS: dict[str, Callable[[bytes, Random], bytes | None]] = {
    "gone": lambda _, __: None,
    "empty": lambda _, __: b"",
    "cut": lambda content, draw: content[: draw.randrange(max(1, len(content)))],
    "longer": lambda content, draw: content + draw.randbytes(50),
    "another file": lambda content, draw: draw.randbytes(len(content)),
    "a bit": _flipped,
}


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
    assert [said for name, said in noticed if not any(each in said for each in (name, FILE, "verdict"))] == []


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
