"""The example's main job."""

import time
from argparse import ArgumentParser
from collections import Counter
from itertools import islice
from typing import Any

from django.core.management.base import BaseCommand

from ccc_django import Message
from ccc_django.models import StoredMessage
from courses.progress import progress
from courses.term import term

BATCH = 500


class Command(BaseCommand):
    """Run a term: courses are joined, orders are placed, everything is stored and read back."""

    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The size of the term."""
        parser.add_argument("--students", type=int, default=400, help="how many students register (default 400)")
        parser.add_argument("--courses", type=int, default=24, help="how many courses there are (default 24)")
        parser.add_argument("--seed", type=int, default=1, help="another seed, another term (default 1)")

    def handle(self, *, students: int, courses: int, seed: int, **_options: Any) -> None:
        """Store the term's messages, read them back, and say what happened."""
        messages = list(term(students=students, courses=courses, seed=seed))
        started = time.perf_counter()
        store(messages)
        restored = read_back(messages)
        seconds = time.perf_counter() - started
        self.report(messages, seconds, same=restored == messages)

    def report(self, messages: list[Message], seconds: float, *, same: bool) -> None:
        """What happened, for people."""
        pairs = Counter(pair for message in messages for pair in message.key_pairs)
        self.stdout.write(f"\n{len(messages):,} messages stored and read back in {seconds:.1f} s\n")
        for type, count in Counter(message.type for message in messages).most_common():
            self.stdout.write(f"  {count:>7,}  {type}")
        self.stdout.write(f"\nThey can be found by {len(pairs):,} attribute values. The busiest:")
        for pair, count in pairs.most_common(3):
            self.stdout.write(f"  {count:>7,}  {pair.name} = {pair.value.partition(':')[2]}")
        joined = next((message for message in messages if message.causation_id != message.id), None)
        if joined:
            self.stdout.write(f"\nOne of them:\n  {joined!r}\n  caused by {joined.causation_id}")
        self.stdout.write("\nEvery message came back exactly as it was." if same else "\nSOMETHING WAS LOST.")
        if not same:
            raise SystemExit(1)


def store(messages: list[Message]) -> None:
    """Write the messages in batches."""
    remaining = progress(messages, total=len(messages), label="Storing the term")
    while batch := list(islice(remaining, BATCH)):
        StoredMessage.objects.bulk_create([StoredMessage.of(message) for message in batch])


def read_back(messages: list[Message]) -> list[Message]:
    """The last messages of the log, as many as were just written, in order."""
    rows = StoredMessage.objects.order_by("-position")[: len(messages)]
    return [row.message for row in reversed(rows)]
