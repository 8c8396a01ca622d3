"""Actors: several who each have a connection and a transaction, and do one thing after the other."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from django.db import connections, transaction


class Actor:
    """Somebody with a connection and a transaction of their own, who does one thing after the other."""

    def __init__(self, executor: ThreadPoolExecutor) -> None:
        self.executor = executor

    def do(self, task, *args, **options):
        return self.start(task, *args, **options).result(30)

    def start(self, task, *args, **options) -> Future:
        return self.executor.submit(task, *args, **options)

    def begin(self) -> None:
        self.block = transaction.atomic()
        self.do(self.block.__enter__)

    def commit(self) -> None:
        self.do(self.block.__exit__, None, None, None)


@contextmanager
def actor() -> Iterator[Actor]:
    with ThreadPoolExecutor(1) as executor:
        try:
            yield Actor(executor)
        finally:
            executor.submit(connections.close_all).result()
