"""The driver's memory: what is in the log stays out of it."""

import json

from ccc_django import store
from tests.commands.driving import in_python
from tests.spark.portable import Joined

MEASURED = """
import json, os, resource, sys
import django; django.setup()
from ccc_django import spark as ccc
from ccc_django.spark.reporting import report
from tests.spark.portable import Attendance

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

session = ccc.session(conf={"spark.driver.memory": "1g"})
ccc.read(session, upto=1).count()
before = peak()
log = ccc.read(session)
log.write.format("noop").mode("overwrite").save()
assignment = ccc.assign(["course_name", "user_id"])
log.transform(assignment).transform(ccc.fold(Attendance)).write.format("noop").mode("overwrite").save()
assignment.forget()
ccc.export(session, sys.argv[1])
assert ccc.verify(session, sys.argv[1]).problems == []
report(session)
print(json.dumps({"before": before, "after": peak(), "rows": log.count()}))
"""


def test_no_job_brings_the_log_to_the_driver(spark, tmp_path):
    """A log of 100 MB, through every job; the driver grows by a part of that, for code and plans."""
    text = "x" * 20_000
    for first in range(0, 5_000, 500):
        store.append([Joined(course_name=text + str(n % 50), user_id=n % 7) for n in range(first, first + 500)])
    measured = in_python("-c", MEASURED, str(tmp_path), timeout=180)
    assert measured.code == 0, measured.err
    found = json.loads(measured.out.splitlines()[-1])
    assert found["rows"] == 5_000
    assert found["after"] - found["before"] < 50, found
