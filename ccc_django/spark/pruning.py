"""Pruning by an archive: what an archive has, and has as the database has it, may leave the database."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ccc_django import topics
from ccc_django.errors import ArchiveBroken
from ccc_django.spark.archives import Archive
from ccc_django.spark.verifying import verify
from ccc_django.topics import Pruned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedByArchive:
    """Up to where an archive was compared with the database, and what was pruned of each topic, or would be."""

    archive: str
    after: int
    upto: int
    topics: list[Pruned]

    @property
    def count(self) -> int:
        """How many messages went."""
        return sum(each.count for each in self.topics)


def prune(
    session: "SparkSession",
    archive: str | os.PathLike[str],
    *names: str,
    after: int | None = None,
    upto: int | None = None,
    progress: Callable[[Pruned], object] | None = None,
) -> PrunedByArchive:
    """Verify an archive, or a part of it; then delete what that has from some topics, or all, if retention allows it.

    Nothing is deleted if anything is wrong with it, and nobody writes to it meanwhile.
    """
    found = Archive(archive)
    found.kept()
    with found.locked():
        verified = verify(session, archive, after=after, upto=upto)
        if not verified.is_whole:
            raise ArchiveBroken(
                f"{verified.archive} is not whole, and nothing was pruned: {verified.problems[0]}. "
                "manage.py ccc_spark verify names everything that is wrong."
            )
        pruned = topics.prune(*names, after=verified.after, upto=verified.upto, progress=progress)
    return PrunedByArchive(archive=verified.archive, after=verified.after, upto=verified.upto, topics=pruned)


def foreseen_prune(
    archive: str | os.PathLike[str], *names: str, after: int | None = None, upto: int | None = None
) -> PrunedByArchive:
    """What would be pruned if the archive is whole, counted by the database, without Spark."""
    found = Archive(archive)
    within = found.range_within(after, upto)
    pruned = topics.prune(*names, after=within.after, upto=within.upto, dry_run=True)
    return PrunedByArchive(archive=str(found.path), after=within.after, upto=within.upto, topics=pruned)
