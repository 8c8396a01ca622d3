"""Messages of a measurement. Nothing imports this before one begins: until then a project does not have these types."""

from ccc_django.instrumentation.bench.names import LISTED, SINGLE
from ccc_django.messages import Event


class Single(Event, type=SINGLE):
    """Appended by itself; each is a partition of its own."""

    ccc_bench_key: str
    ccc_bench_lane: int


class Listed(Event, type=LISTED):
    """Appended with many others; a lane has many of them."""

    ccc_bench_item: str
    ccc_bench_lane: int
