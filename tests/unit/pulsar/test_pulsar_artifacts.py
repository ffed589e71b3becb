"""Release numbers of Pulsar are told from what is none, before anything is downloaded."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from chaoskit.base.errors import BadInput
from clusters.pulsar.artifacts import fetch, parse_version


@pytest.mark.parametrize(("version", "parts"), [("4.0.7", (4, 0, 7)), ("3.0.0", (3, 0, 0)), ("4.10.1", (4, 10, 1))])
def test_a_release_number_has_three_parts(version: str, parts: tuple[int, ...]) -> None:
    assert parse_version(version) == parts


@pytest.mark.parametrize("version", ["", "4", "4.0", "latest", "4.0.x", "4.0.7-rc1", "4.0.7.1", "../4.0.7"])
def test_what_is_no_release_number_is_refused(version: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse_version(version)

    assert (
        str(refused.value) == f"cluster.version: {version!r} is not a release number of Pulsar; write for example 4.2.4"
    )


def test_releases_with_other_settings_are_refused() -> None:
    assert parse_version("2.10.5") == (2, 10, 5)
    with pytest.raises(BadInput, match=r"cluster\.version: 2\.9\.1 is too old; chaoskit supports Pulsar 2\.10\+"):
        parse_version("2.9.1")


def test_a_cached_release_is_used_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAOSKIT_CACHE", str(tmp_path))
    folder = tmp_path / "pulsar-4.0.7"
    folder.mkdir()
    (folder / "broker.jar").write_bytes(b"jar")
    (folder / "SHA256SUMS").write_text(f"{hashlib.sha256(b'jar').hexdigest()}  broker.jar\n")

    assert fetch("4.0.7") == folder

    (folder / "broker.jar").write_bytes(b"jaR")
    with pytest.raises(BadInput, match=r"broker\.jar was modified after the download; remove .*pulsar-4\.0\.7"):
        fetch("4.0.7")
