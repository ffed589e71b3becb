"""What a scenario may say of data disks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from chaoskit.base.installing import with_extra
from chaoskit.contract.disk import ProgrammableDisk
from clusters.hosts.disk import options as disk_options
from clusters.hosts.disk.options import check_disk
from clusters.hosts.lab import LocalOptions, LocalProvider


def test_a_plain_disk_refuses_what_only_a_programmable_one_can() -> None:
    with pytest.raises(ValueError, match="flush, record: requires a programmable disk"):
        LocalOptions(flush="2ms", record=True)
    assert LocalOptions(kind="programmable", flush="2ms").settings().flush == 2_000_000


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
    assert ProgrammableDisk in LocalProvider().host_powers(LocalOptions(kind="programmable"))
    assert ProgrammableDisk not in LocalProvider().host_powers(LocalOptions())


def test_images_are_paths(tmp_path: Path) -> None:
    (tmp_path / "image").touch()

    check_disk(LocalOptions(images={"n1": str(tmp_path / "image")}), 1)
