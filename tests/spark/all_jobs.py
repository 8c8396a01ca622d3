"""Everything that Spark does for us, on a master that is named: ``python -m tests.spark.all_jobs MASTER FOLDER``."""

import json
import sys

import django

django.setup()

from ccc_django import spark as ccc  # noqa: E402 - after Django is set up
from ccc_django.spark import starting  # noqa: E402
from tests.spark.portable import Attendance  # noqa: E402


def main(master: str, folder: str) -> None:
    """Read, assign, fold and follow the log, and tell what came out."""
    session = ccc.session(master=master, conf={"spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "4"})
    assignment = ccc.assign(["course_name", "user_id"])
    folded = ccc.read(session).transform(assignment).transform(ccc.fold(Attendance)).collect()
    assignment.forget()
    seen: list[int] = []
    stream = ccc.read_stream(session).writeStream.foreachBatch(
        lambda batch, _: seen.extend(row.position for row in batch.collect())
    )
    stream.option("checkpointLocation", folder).trigger(availableNow=True).start().awaitTermination()
    executors = session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
    starting.end(session)
    sys.stdout.write(
        json.dumps(
            {
                "states": sorted([row.partition_key, row.state, row.position] for row in folded),
                "followed": sorted(seen),
                "executors": executors,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
