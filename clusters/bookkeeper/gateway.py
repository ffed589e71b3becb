"""BookKeeper's Java client in a separate JVM per worker, controlled with py4j.

The JVM exits with its worker, even if the worker is killed, because its standard input closes.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from chaoskit.contract.clients.ledger import LedgerError, NoSuchEntry, NoSuchLedger, Unreadable
from chaoskit.model.outcome import FAIL, INFO
from clusters.common import java

_JVM = ["-Xmx96m", "-XX:MaxDirectMemorySize=96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
_QUIET = ["-Dlog4j2.level=WARN", "-Dio.netty.tryReflectionSetAccessible=true"]
_UNREADABLE = {"ReadException", "DigestMatchException"}
"""What a client raises once all bookies of a write set have answered: with an I/O error, or with a wrong digest."""

_NO_SUCH_LEDGER = {"NoSuchLedgerExistsException", "NoSuchLedgerExistsOnMetadataServerException"}
NEVER_SENT = {"IncorrectParameterException"}
"""Errors that prove that nothing was done: BookKeeper raises them before it sends anything (`BKException.Code`).

All others leave the outcome of the operation open. In particular for an add: `LedgerFencedException` is the response of
one bookie, and the recovery that fenced it may have found the entry on others and kept it; `LedgerClosedException` is
reported both for adds that came too late and for adds in flight (`LedgerHandle.doAsyncAddEntry`,
`errorOutPendingAdds`); all adds after a failed one get its error, although they may be stored on bookies.
"""


class Gateway:
    """A JVM with BookKeeper's client.

    Args:
        jars: folder of BookKeeper's jars.
    """

    def __init__(self, jars: str) -> None:
        port, token = launch_gateway(
            classpath=f"{jars}/*",
            javaopts=[*_JVM, *_QUIET],
            die_on_exit=True,
            redirect_stdout=sys.stderr,
            redirect_stderr=sys.stderr,
            java_path=java.program(),
            enable_auth=True,
        )
        self._java = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
        self.jvm: Any = self._java.jvm
        self._milliseconds = self.jvm.java.util.concurrent.TimeUnit.MILLISECONDS
        # One call for a whole batch of entries; otherwise each entry would cost two calls.
        self._mapper = self.jvm.com.fasterxml.jackson.databind.ObjectMapper()
        for skipped in ("io.netty.buffer.ByteBuf", "java.nio.ByteBuffer"):
            self._mapper.configOverride(self.jvm.Class.forName(skipped)).setIsIgnoredType(True)

    def connect(self, metadata_uri: str, settings: Mapping[str, Any]) -> Any:
        """Return a client of the cluster (`org.apache.bookkeeper.client.api.BookKeeper`).

        Raises:
            LedgerError: its metadata cannot be reached.
        """
        configuration = self.jvm.org.apache.bookkeeper.conf.ClientConfiguration()
        configuration.setMetadataServiceUri(metadata_uri)
        for name, value in settings.items():
            configuration.setProperty(name, value)
        try:
            return self.jvm.org.apache.bookkeeper.client.api.BookKeeper.newBuilder(configuration).build()
        except Py4JJavaError as error:
            raise self.error(error) from error

    def done(self, future: Any, timeout_s: float) -> Any:
        """Return the result of a future.

        Raises:
            LedgerError: it failed or timed out.
        """
        try:
            return future.get(round(timeout_s * 1000), self._milliseconds)
        except Py4JJavaError as error:
            raise self.error(error) from error

    def listed(self, numbers: Any) -> list[int]:
        """Return the numbers of a Java iterable."""
        result: list[int] = json.loads(self._mapper.writeValueAsString(numbers))
        return result

    def contents(self, entries: Any) -> list[tuple[int, bytes]]:
        """Return the entry id and payload of each entry of `LedgerEntries`."""
        rows = json.loads(self._mapper.writeValueAsString(entries))
        return [(row["entryId"], base64.b64decode(row["entryBytes"])) for row in rows]

    def error(self, error: Py4JJavaError) -> LedgerError:
        """Convert a Java exception."""
        name = self._name(error.java_exception)
        if name in _NO_SUCH_LEDGER:
            return NoSuchLedger(FAIL, name)
        if name == "NoSuchEntryException":
            return NoSuchEntry(FAIL, name)
        if name in _UNREADABLE:
            return Unreadable(FAIL, name)
        return LedgerError(FAIL if name in NEVER_SENT else INFO, name)

    def close(self) -> None:
        """Stop the JVM."""
        self._java.shutdown()

    def _name(self, exception: Any) -> str:
        """Return the name of a BookKeeper error as in `BKException.Code`, or else the class name of the exception."""
        while (cause := exception.getCause()) is not None and _is_wrapper(exception):
            exception = cause
        name = str(exception.getClass().getSimpleName())
        return name.removeprefix("BK")


def _is_wrapper(exception: Any) -> bool:
    return str(exception.getClass().getName()).startswith("java.util.concurrent.")
