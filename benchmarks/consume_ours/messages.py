"""The jobs."""

from ccc_django import Event


class Job(Event, type="benchmark.job"):
    """Something that does nothing; with a path it reports when it was handled."""

    partition: str
    path: str = ""
