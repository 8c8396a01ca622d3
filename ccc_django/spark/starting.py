"""Starting: a Spark session that knows the log; local, unless somebody says otherwise."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccc_django.errors import SparkUnavailable
from ccc_django.extras import require
from ccc_django.spark.java import use_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
MASTERS = re.compile(r"local(-cluster)?(\[[^]]*\])?|yarn|(spark|k8s)://.+")
PATIENCE = 5.0  # seconds for a master to answer
AT_START = {
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.inMemoryColumnarStorage.compressed": "false",  # what is kept is kept for minutes
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
}
DEFAULT_OPTIONS, OPTIONS = "spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions"
COLLECTOR = "-XX:+UseParallelGC"  # on a few cores a seventh less time for assign and fold than with Java's own choice
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
SCANS = "org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2"


def session(*, master: str | None = None, conf: Mapping[str, str] | None = None) -> "SparkSession":
    """A Spark session that reads the log: the one that there is, or a new one, local unless a master is named.

    Of a session that there is, only what may change at run time is changed by ``conf``.
    """
    require("pyspark")
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra

    if is_running():
        found = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
        _change(found, dict(conf or {}))
    else:
        from ccc_django.spark.connecting import database  # noqa: PLC0415 - executors have no Django

        database()  # whoever cannot reach it need not wait for Java
        found = _started(master or os.environ.get("CCC_SPARK_MASTER"), dict(conf or {}))
    if keeps_scans_apart(found):
        found.conf.set(PUSHDOWN, "true")
    know_the_log(found)
    return found


def is_running() -> bool:
    """Whether this process has a Spark; sessions are active in the thread alone that has made them."""
    from pyspark import SparkContext  # noqa: PLC0415 - an extra

    return SparkContext._active_spark_context is not None  # noqa: SLF001 - nothing else tells


def know_the_log(session: "SparkSession") -> None:
    """Let format("ccc") of a session be the log of this project; options show in plans, so it stands in none."""
    from ccc_django.spark.connecting import database  # noqa: PLC0415 - executors have no Django
    from ccc_django.spark.source import Log  # noqa: PLC0415 - an extra

    obeys = str(session.conf.get(PUSHDOWN, "false")).lower() == "true"
    own = {"database": database(), "obeys_filters": obeys, "__qualname__": "Log of a session"}
    session.dataSource.register(type("Log", (Log,), own))


def keeps_scans_apart(session: "SparkSession") -> bool:
    """Whether two queries of one DataFrame may have filters of their own handed down.

    In Spark 4.1 to 4.3 the last filter that was handed down counts for all of them, and rows are missing.
    """
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001 - nothing else tells
    methods = jvm.java.lang.Class.forName(SCANS).getMethods()
    return "setReadInfo" not in {method.getName() for method in methods}


def _change(session: "SparkSession", conf: Mapping[str, str]) -> None:
    """What is for the start alone stays as it is."""
    from pyspark.errors import AnalysisException  # noqa: PLC0415 - an extra

    for name, value in conf.items():
        with suppress(AnalysisException):
            session.conf.set(name, value)


def _started(master: str | None, conf: dict[str, str]) -> "SparkSession":
    from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415 - an extra
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra

    own = {**_configured(), **conf}
    master = master or own.get("spark.master") or LOCAL
    _refuse_silent(master)
    use_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    _let_workers_import_us()
    builder = SparkSession.builder.appName("ccc_django").master(master)
    for name, value in {**AT_START, **_of_machine(master), **own, DEFAULT_OPTIONS: _java_options(master, own)}.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except PySparkRuntimeError as problem:
        raise SparkUnavailable(f"Spark did not start: {_line(problem)} Look at what Java said above.") from None
    except Exception as problem:  # noqa: BLE001 - of Python, of the bridge, of Java
        _end_java()
        raise SparkUnavailable(f"Spark did not start with the master {master!r}: {_line(problem)}") from None


def _configured() -> dict[str, str]:
    """Spark's own configuration, which ours would be put before."""
    import pyspark  # noqa: PLC0415 - an extra

    home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    defaults = Path(os.environ.get("SPARK_CONF_DIR") or Path(home) / "conf") / "spark-defaults.conf"
    lines = defaults.read_text().splitlines() if defaults.is_file() else []
    found = (re.fullmatch(r"\s*(spark\.[^\s=:]+)[\s=:]+(.*?)\s*", line) for line in lines)
    return {match[1]: match[2] for match in found if match}


def _refuse_silent(master: str) -> None:
    """Spark itself tries for a minute before it gives up, and answers nonsense with a trace of Java's."""
    if not MASTERS.fullmatch(master):
        raise SparkUnavailable(f"{master!r} is no master: say local[*], spark://HOST:PORT, yarn or k8s://HOST:PORT.")
    if not master.startswith("spark://"):
        return
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        with suppress(OSError, ValueError):
            socket.create_connection((host, int(port)), PATIENCE).close()
            return
    raise SparkUnavailable(f"Spark did not start with the master {master!r}: it does not answer.")


def _of_machine(master: str) -> dict[str, str]:
    """Where everything runs in one Java: a quarter of the memory, and work for each core."""
    if not master.startswith("local"):
        return {}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    return {
        "spark.sql.shuffle.partitions": str(4 * max(os.cpu_count() or 1, 2)),
        "spark.driver.memory": f"{min(max(memory // 4, 1), 8)}g",
    }


def _java_options(master: str, own: Mapping[str, str]) -> str:
    """Quiet; and of whoever says nothing about how Java runs, with the collector that does most in little time."""
    collector = COLLECTOR if master.startswith("local") and OPTIONS not in own else ""
    return f"-Dlog4j2.configurationFile={_logging().as_uri()} {own.get(DEFAULT_OPTIONS, collector)}".strip()


def _logging() -> Path:
    return Path(str(resources.files("ccc_django.spark") / "log4j2.properties")).absolute()


def _let_workers_import_us() -> None:
    """Python processes that Spark starts here find the modules that this one finds."""
    ours = str(Path(__file__).parents[2])
    known = os.environ.get("PYTHONPATH", "")
    if ours not in known.split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [ours, known]))


def end(session: "SparkSession") -> None:
    """Stop Spark, and the Java that it runs on."""
    session.stop()
    _end_java()


def _end_java() -> None:
    """Also of a session that never was: what it has left behind would be taken for one."""
    from pyspark import SparkContext  # noqa: PLC0415 - an extra

    context: Any = SparkContext
    gateway = context._gateway  # noqa: SLF001 - there is no other way to the process
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()  # Java ends with its input
        try:
            gateway.proc.wait(timeout=30)
        except subprocess.TimeoutExpired:
            gateway.proc.kill()
    context._gateway = context._jvm = None  # noqa: SLF001 - so that the next one is started anew


def _line(problem: Exception) -> str:
    said = [line.strip() for line in str(problem).splitlines() if line.strip()]
    causes = [line.partition("Exception: ")[2] for line in said if "Exception: " in line]
    return (causes or said or [type(problem).__name__])[-1 if causes else 0]
