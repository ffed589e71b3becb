"""Directories of a system on the data disks of a host."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from chaoskit.base.errors import BadInput
from clusters.common.directories import check_directories, paths
from clusters.kafka.settings import KafkaOptions
from clusters.storage.settings import BookieFolders, StorageOptions

DISKS: Any = {"data": SimpleNamespace(path="/data"), "journal": SimpleNamespace(path="/disks/journal")}


def test_a_directory_is_a_disk_or_a_folder_on_one() -> None:
    assert paths(["data"], DISKS, "kafka") == ["/data/kafka"]
    assert paths(["journal", "data/a"], DISKS, "kafka") == ["/disks/journal/kafka", "/data/a/kafka"]


def test_by_default_a_bookie_has_all_on_its_data_disk() -> None:
    folders = BookieFolders.on(DISKS, StorageOptions())

    assert folders == BookieFolders(["/data/bookkeeper/journal"], ["/data/bookkeeper/ledgers"])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "at least 1 item"),
        (["data", "data"], "the same directory twice"),
        (["../etc"], "match pattern"),
        (["data/a/b"], "match pattern"),
    ],
)
def test_directories_that_cannot_be_are_refused(given: list[str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        KafkaOptions(log_dirs=given)


def test_a_disk_that_the_hosts_do_not_have_is_refused_with_the_remedy() -> None:
    with pytest.raises(BadInput, match=r"cluster.log_dirs: .* no disk 'jurnal'.*did you mean \"journal\"\?"):
        check_directories(["jurnal/a"], list(DISKS), "cluster.log_dirs")
