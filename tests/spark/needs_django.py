"""A projector whose module needs Django, as many do at first."""

from django.contrib.auth.models import User

from ccc_django import Projector, evolves
from tests.spark.portable import Joined


class Members(Projector):
    @evolves(Joined)
    def joined(self, state: dict, event: Joined) -> dict:
        return {"model": User.__name__}
