"""The event loop that rstream needs, run only while its user waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any

_STEP_S = 0.001
_END_S = 1.5
"""Time for connections that are being closed."""


class Loop:
    """Runs coroutines between calls of `run`; nothing runs outside of them."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda *_: None)  # links tell what they lost

    def run(self, timeout_s: float, done: Callable[[], bool], keep: Callable[[], None]) -> None:
        """Run until something is done, or for a time; `keep` is called all the while."""
        self._loop.run_until_complete(_until(time.monotonic() + timeout_s, done, keep))

    def call(self, coroutine: Coroutine[Any, Any, None], timeout_s: float) -> None:
        """Run a coroutine to its end; one that fails, or is late, has lost its connection, which its link notices."""

        async def bounded() -> None:
            with suppress(Exception):
                async with asyncio.timeout(timeout_s):
                    await coroutine

        self._loop.run_until_complete(bounded())

    def end(self, last: Iterable[Coroutine[Any, Any, None]]) -> None:
        """Run the last coroutines, and end."""
        self._loop.run_until_complete(_all(last))
        self._loop.close()


async def _until(deadline: float, done: Callable[[], bool], keep: Callable[[], None]) -> None:
    while True:
        keep()
        await asyncio.sleep(0)
        left_s = deadline - time.monotonic()
        if done() or left_s <= 0:
            return
        await asyncio.sleep(min(left_s, _STEP_S))


async def _all(coroutines: Iterable[Coroutine[Any, Any, None]]) -> None:
    await asyncio.gather(*coroutines, return_exceptions=True)
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    if rest:
        _, late = await asyncio.wait(rest, timeout=_END_S)
        for task in late:
            task.cancel()
    await asyncio.sleep(0)
