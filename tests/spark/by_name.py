"""A projector that does not import its messages."""

from typing import Any

from ccc_django import Projector, evolves
from ccc_django.consumers import registry


class ByName(Projector, group="by-name", partition_by=["user_id"], most_partitions=100):
    """What each user has paid."""

    @evolves("spark.joined")
    def joined(self, state: int | None, event: Any) -> int:
        return (state or 0) + event.paid


registry._consumers.pop("by-name")  # other tests count the consumers of their project
