"""What tests of retention have: messages grow old at once."""

from datetime import timedelta

from django.db.models import F

from ccc_django.models import StoredMessage


def age(*, days: float = 10, upto: int | None = None, after: int = 0) -> None:
    """Let messages have been appended so long ago."""
    old = StoredMessage.objects.after(after)
    old = old if upto is None else old.upto(upto)
    old.update(appended_at=F("appended_at") - timedelta(days=days))
