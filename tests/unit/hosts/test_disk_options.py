"""What a scenario may say of data disks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.base.installing import with_extra
from chaoskit.contract.hosts.disk import ProgrammableDisk
from clusters.hosts.disk import options as disk_options
from clusters.hosts.disk.options import check_disk
from clusters.hosts.lab import LocalOptions, LocalProvider


def _options(**given: Any) -> LocalOptions:
    """Options as they are written in YAML."""
    return LocalOptions.model_validate(given)


def test_a_plain_disk_refuses_what_only_a_programmable_one_can() -> None:
    with pytest.raises(ValueError, match="flush, record: requires a programmable disk"):
        _options(flush="2ms", record=True)
    assert _options(kind="programmable", flush="2ms").settings().flush == 2_000_000


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"filesystem": "xfs", "size": "200MiB"}, "XFS needs at least 300MiB"),
        ({"images": {"n4": "/etc/hostname"}}, "images.n4: no such host; the hosts are n1 to n3"),
        ({"images": {"n1": "/absent"}}, "images.n1: /absent is not a file"),
    ],
)
def test_what_cannot_be_made_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        check_disk(LocalOptions(**given), 3)


def test_a_programmable_disk_without_pyfuse3_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_options, "find_spec", lambda _: None)

    with pytest.raises(BadInput, match=re.escape(with_extra("disk"))):
        check_disk(LocalOptions(kind="programmable"), 1)


def test_only_hosts_with_a_programmable_disk_say_so() -> None:
    assert ProgrammableDisk in LocalProvider().disk_powers(LocalOptions(kind="programmable"))["data"]
    assert ProgrammableDisk not in LocalProvider().disk_powers(LocalOptions())["data"]


def test_further_disks_are_like_the_first_where_they_do_not_say_otherwise() -> None:
    options = _options(
        kind="programmable", flush="2ms", disks={"journal": "1GiB", "ledgers": {"size": "2GiB", "kind": "plain"}}
    )
    disks = options.each()

    assert list(disks) == ["data", "journal", "ledgers"]
    assert (disks["journal"].size, disks["journal"].flush) == (2**30, 2_000_000)
    assert (disks["ledgers"].kind, disks["ledgers"].size) == ("plain", 2 * 2**30)
    assert LocalOptions.model_validate(options.model_dump(mode="json")).each() == disks
    assert "disks" not in LocalOptions().model_dump()
    assert _options(disks={"journal": "1GiB"}).each()["journal"].kind == "plain", "also after another was shown"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"disks": {"data": "1GiB"}}, "every host has a disk of this name"),
        ({"disks": {"Journal": "1GiB"}}, "disks.Journal"),
        ({"disks": {"journal": {"size": "1GiB", "flush": "1ms"}}}, "disks.journal: .*add kind: programmable"),
        ({"disks": {"journal": {"flush": "1ms"}}}, "size"),
        ({"disks": {f"d{number}": "1GiB" for number in range(9)}}, "at most 8"),
        ({"kind": "programmable", "record": True, "disks": {"journal": "1GiB"}}, "record: needs hosts with one disk"),
    ],
)
def test_further_disks_that_cannot_be_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        LocalOptions(**given)


def test_images_are_paths(tmp_path: Path) -> None:
    (tmp_path / "image").touch()

    check_disk(_options(images={"n1": str(tmp_path / "image")}), 1)
