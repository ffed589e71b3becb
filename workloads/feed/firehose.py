"""The firehose workload: publishers send as fast as they can, with few messages under way.

It is a feed in every other respect: what each subscriber was promised is judged. At the maximum rate the number of
messages under way decides who waits: with fewer, publishers wait for the system; with more, its queues fill.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from chaoskit.load.options import MessageSize, Rate
from workloads.feed.options import FeedOptions
from workloads.feed.workload import FeedWorkload


class FirehoseOptions(FeedOptions):
    """The options of this workload: those of `feed`, with other defaults."""

    rate: Rate = "max"
    message_size: MessageSize = 8192
    in_flight: int = Field(default=64, ge=1)


class FirehoseWorkload(FeedWorkload):
    """Entry point `firehose` of `chaoskit.workloads`."""

    options: type[FeedOptions] = FirehoseOptions
    measures: Literal["throughput"] = "throughput"
