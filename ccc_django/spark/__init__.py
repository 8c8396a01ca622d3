"""Spark: bulk work on the log: read it, follow it, assign it to partitions, fold it, archive it, report on it.

``from ccc_django import spark as ccc``. What executors import is free of Django.
"""

from ccc_django.extras import require

require("pyspark")

from ccc_django.spark.assigning import assign  # noqa: E402 - only with the extra
from ccc_django.spark.exporting import export, follow  # noqa: E402 - only with the extra
from ccc_django.spark.folding import fold  # noqa: E402 - only with the extra
from ccc_django.spark.reading import read, read_stream  # noqa: E402 - only with the extra
from ccc_django.spark.starting import session  # noqa: E402 - only with the extra
from ccc_django.spark.verifying import verify  # noqa: E402 - only with the extra

__all__ = ["assign", "export", "fold", "follow", "read", "read_stream", "session", "verify"]
