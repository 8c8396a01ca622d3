"""Progress on a terminal: a bar if rich is installed, one line otherwise."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from ccc_django.extras import is_installed

T = TypeVar("T")


def progress(items: Iterable[T], *, total: int, label: str) -> Iterator[T]:
    """The same items, with a bar that follows them."""
    if is_installed("rich"):
        from rich.progress import track

        yield from track(items, description=label, total=total)
    else:
        print(f"{label} …")
        yield from items
