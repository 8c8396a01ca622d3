"""One Spark for all tests of a process: starting one takes seconds."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ccc_django import spark as ccc
from ccc_django.spark import starting
from ccc_django.testing import clear

os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).with_name("conf")))


@pytest.fixture(scope="session")
def one_spark(django_db_setup: None, django_db_blocker) -> Iterator[SparkSession]:
    with django_db_blocker.unblock():
        session = ccc.session(conf={"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "4"})
    yield session
    starting.end(session)


@pytest.fixture
def spark(one_spark: SparkSession, transactional_db: None) -> SparkSession:
    """A session that reads the log of this test, which is empty and begins with position 1."""
    clear()
    return ccc.session()
