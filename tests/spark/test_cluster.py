"""On a cluster: the same jobs, the same results; nothing depends on one process doing everything."""

import json

from ccc_django import spark as ccc
from ccc_django import store
from tests.commands.driving import in_pipe, in_python
from tests.spark.cluster import cluster
from tests.spark.portable import Attendance, Gathered, Joined

SMALL = ("--conf", "spark.executor.memory=512m")


def test_every_job_runs_on_a_master_with_two_workers(spark, tmp_path):
    store.append(
        [
            *(Joined(course_name=f"course {n % 4}", user_id=n % 7, paid=n) for n in range(40)),
            Joined(course_name="course 1"),
            Gathered(courses=["course 2", "course 3"], user_id=3),
        ]
    )
    assignment = ccc.assign(["course_name", "user_id"])
    folded = ccc.read(spark).transform(assignment).transform(ccc.fold(Attendance)).collect()
    assignment.forget()
    with cluster(tmp_path) as master:
        done = in_python("-m", "tests.spark.all_jobs", master, str(tmp_path / "checkpoint"), timeout=180)
        assert done.code == 0, done.err
        found = json.loads(done.out.splitlines()[-1])
        archive = str(tmp_path / "archive")
        exported = in_pipe("ccc_spark", "export", "--to", archive, "--master", master, "--json", *SMALL, timeout=120)
        verified = in_pipe("ccc_spark", "verify", "--from", archive, "--master", master, "--json", *SMALL, timeout=120)
        reported = in_pipe("ccc_spark", "report", "--from", archive, "--master", master, "--json", *SMALL, timeout=120)
    assert found["states"] == sorted([row.partition_key, row.state, row.position] for row in folded)
    assert found["followed"] == [*range(1, 43)]
    assert found["executors"] == 2
    assert (exported.code, json.loads(exported.out)["rows"]) == (0, 42), exported.err
    assert (verified.code, json.loads(verified.out)["problems"]) == (0, []), verified.err
    assert (reported.code, json.loads(reported.out)["throughput"]["messages"]) == (0, 42), reported.err
