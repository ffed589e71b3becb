"""BookKeeper's Java client in a JVM of the worker's own, driven over py4j.

The JVM ends with its worker, also with one that is killed: its standard input closes.
"""

from __future__ import annotations

import base64
import json
import shutil
import sys
from collections.abc import Mapping
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from chaoskit.contract.ledger import LedgerError, NoSuchEntry, NoSuchLedger
from chaoskit.history.schema import FAIL, INFO

_JVM = ["-Xmx96m", "-XX:MaxDirectMemorySize=96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
_QUIET = ["-Dlog4j2.level=WARN", "-Dio.netty.tryReflectionSetAccessible=true"]
_NO_SUCH_LEDGER = {"NoSuchLedgerExistsException", "NoSuchLedgerExistsOnMetadataServerException"}
NEVER_SENT = {"IncorrectParameterException"}
"""Errors that prove that nothing was done: BookKeeper raises it before it sends anything (`BKException.Code`).

All others leave it open what became of the operation. In particular of an add: `LedgerFencedException` is one bookie's
word, and the recovery that fenced it may have found the entry on others, and kept it; `LedgerClosedException` is told
for adds that came too late and for adds that were under way alike (`LedgerHandle.doAsyncAddEntry`,
`errorOutPendingAdds`); all adds behind one that failed are given its error, though they may be on bookies.
"""


class Gateway:
    """A JVM with BookKeeper's client in it.

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
            java_path=shutil.which("java") or "java",
            enable_auth=True,
        )
        self._java = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
        self.jvm: Any = self._java.jvm
        self._milliseconds = self.jvm.java.util.concurrent.TimeUnit.MILLISECONDS
        # One call for a whole batch of entries, each of which would cost two.
        self._mapper = self.jvm.com.fasterxml.jackson.databind.ObjectMapper()
        for skipped in ("io.netty.buffer.ByteBuf", "java.nio.ByteBuffer"):
            self._mapper.configOverride(self.jvm.Class.forName(skipped)).setIsIgnoredType(True)

    def connect(self, metadata_uri: str, settings: Mapping[str, Any]) -> Any:
        """Return a client of the cluster (`org.apache.bookkeeper.client.api.BookKeeper`).

        Raises:
            LedgerError: there is no connection to its metadata.
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
        """Return what a future comes to.

        Raises:
            LedgerError: an error, or nothing within the time.
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
        """Return entry id and payload of each of some `LedgerEntries`."""
        rows = json.loads(self._mapper.writeValueAsString(entries))
        return [(row["entryId"], base64.b64decode(row["entryBytes"])) for row in rows]

    def error(self, error: Py4JJavaError) -> LedgerError:
        """Return what a Java exception means."""
        name = self._name(error.java_exception)
        if name in _NO_SUCH_LEDGER:
            return NoSuchLedger(FAIL, name)
        if name == "NoSuchEntryException":
            return NoSuchEntry(FAIL, name)
        return LedgerError(FAIL if name in NEVER_SENT else INFO, name)

    def close(self) -> None:
        """End the JVM."""
        self._java.shutdown()

    def _name(self, exception: Any) -> str:
        """Return the name of a BookKeeper error as in `BKException.Code`, or of another exception's class."""
        while (cause := exception.getCause()) is not None and _is_wrapper(exception):
            exception = cause
        name = str(exception.getClass().getSimpleName())
        return name.removeprefix("BK")


def _is_wrapper(exception: Any) -> bool:
    return str(exception.getClass().getName()).startswith("java.util.concurrent.")
