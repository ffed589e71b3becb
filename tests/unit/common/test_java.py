"""How servers are started on Java."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from clusters.common.java import server
from clusters.kafka.settings import PRODUCTION_JVM, KafkaOptions, heap_of
from clusters.pulsar.settings import PulsarOptions

GIB = 2**30


@pytest.mark.parametrize(
    ("given", "has", "heap"),
    [
        ({}, ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"), 400 * 2**20),
        ({"jvm": "production"}, PRODUCTION_JVM, GIB),
        ({"jvm": ["-Xlog:gc", "production"], "heap": "2GiB"}, (*PRODUCTION_JVM, "-Xlog:gc"), 2 * GIB),
    ],
)
def test_a_broker_is_started_as_small_or_as_its_own_scripts_start_it(
    given: dict[str, Any], has: tuple[str, ...], heap: int
) -> None:
    options = KafkaOptions.model_validate(given)

    argv = server("jars/*", options.jvm, PRODUCTION_JVM)

    assert tuple(argv[3 : 3 + len(has)]) == has
    assert ("-XX:TieredStopAtLevel=1" in argv) == ("-XX:TieredStopAtLevel=1" in has)
    assert "production" not in argv
    assert heap_of(options) == heap


def test_heaps_of_pulsar() -> None:
    heap = PulsarOptions.model_validate({"heap": {"bookie": "3GiB"}}).heap

    assert heap.of("bookie", production=True) == 3 * GIB
    assert [heap.of("broker", production=production) for production in (False, True)] == [384 * 2**20, 2 * GIB]
    assert heap.of("zookeeper", production=True) == 128 * 2**20


def test_what_is_no_option() -> None:
    with pytest.raises(ValidationError, match="'fast' is no option of a JVM; write production, or options"):
        KafkaOptions.model_validate({"jvm": "fast"})
