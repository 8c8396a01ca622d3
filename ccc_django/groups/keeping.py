"""Keeping: nobody prunes what a group may need from now on, until its transaction has ended and all can see it."""

from collections.abc import Iterable
from typing import Any

from pydantic_core import to_json

from ccc_django import db


def keep(topics: Iterable[str] | None) -> None:
    """Let nobody prune these topics, or any; whoever does is waited for.

    Groups are locked before topics. Those who keep a topic do not wait for each other.
    """
    names = [] if topics is None else sorted({*topics})
    if topics is None or names:
        listed: Any = to_json(names).decode() if db.is_sqlite() else names
        db.rows("share_topics", names=listed, every=topics is None)
