"""Worker: a process that claims, handles and acks, until it is told to stop."""

from ccc_django.worker.loop import Limits, Worker

__all__ = ["Limits", "Worker"]
