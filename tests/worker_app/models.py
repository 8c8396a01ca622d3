"""What handlers have done, committed with their acks."""

from django.db import models


class Effect(models.Model):
    """One message was handled in one partition."""

    group_name = models.TextField()
    partition = models.TextField()
    position = models.BigIntegerField()
    worker = models.TextField()

    def __str__(self):
        return f"{self.group_name} {self.partition} {self.position}"
