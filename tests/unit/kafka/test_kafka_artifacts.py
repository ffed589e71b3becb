"""Release numbers are told from what is none, before anything is downloaded."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from chaoskit.base.errors import BadInput
from clusters.common import maven
from clusters.kafka.artifacts import check_version, fetch, parse_version


@pytest.mark.parametrize(("version", "parts"), [("4.1.1", (4, 1, 1)), ("3.0", (3, 0)), ("3.10.0", (3, 10, 0))])
def test_a_release_number_has_parts(version: str, parts: tuple[int, ...]) -> None:
    assert parse_version(version) == parts


@pytest.mark.parametrize(
    "version", ["", "4", "latest", "4.1.x", "4.1.1-rc1", "4.1.1.1", "4..1", "-4.1", " 4.1", "../4.1"]
)
def test_what_is_no_release_number_is_refused(version: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse_version(version)

    assert (
        str(refused.value) == f"cluster.version: {version!r} is not a release number of Kafka; write for example 4.4.0"
    )


@pytest.mark.parametrize("version", ["2.7.2", "2.7", "1.0.0", "0.8.2"])
def test_releases_without_kraft_are_refused(version: str) -> None:
    with pytest.raises(
        BadInput,
        match=rf"Kafka {version} has no KRaft, or only a preview; chaoskit supports Kafka 3\.0\+, and 2\.3 to 3\.9 "
        r"with cluster\.metadata: zookeeper",
    ):
        check_version(version, "kraft")


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that holds one jar of a release."""
    monkeypatch.setenv("CHAOSKIT_CACHE", str(tmp_path))
    folder = tmp_path / "kafka-4.1.1"
    folder.mkdir()
    (folder / "kafka.jar").write_bytes(b"jar")
    (folder / "SHA256SUMS").write_text(f"{hashlib.sha256(b'jar').hexdigest()}  kafka.jar\n")
    return folder


def test_a_cached_release_is_used_as_it_is(cached: Path) -> None:
    assert fetch("4.1.1") == cached


def test_a_cached_jar_that_changed_is_refused(cached: Path) -> None:
    (cached / "kafka.jar").write_bytes(b"jaR")

    with pytest.raises(
        BadInput, match=r"kafka\.jar was modified after the download; remove .*kafka-4\.1\.1 and run again"
    ):
        fetch("4.1.1")


def test_a_jar_is_read_once_until_it_changes(cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    digest = maven._digest

    def counted(path: Path) -> str:
        read.append(path.name)
        return digest(path)

    monkeypatch.setattr(maven, "_digest", counted)
    fetch("4.1.1")
    fetch("4.1.1")

    assert read == ["kafka.jar"]
    (cached / "kafka.jar").write_bytes(b"jaR")
    with pytest.raises(BadInput, match=r"kafka\.jar was modified after the download"):
        fetch("4.1.1")


def test_a_cached_jar_that_is_gone_is_refused(cached: Path) -> None:
    (cached / "kafka.jar").unlink()

    with pytest.raises(BadInput, match=r"kafka\.jar was modified after the download"):
        fetch("4.1.1")
