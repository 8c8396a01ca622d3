"""Statements: constant text, one a file, in the words of each database where they must differ."""

import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent


@cache
def statement(name: str, vendor: str) -> str:
    """The text of a statement, in the vendor's own words if it has any."""
    own = FOLDER / vendor / f"{name}.sql"
    text = (own if own.exists() else FOLDER / f"{name}.sql").read_text()
    return re.sub(r"-- include: (\w+)\n", lambda part: statement(part[1], vendor), text)


@cache
def numbered(name: str) -> tuple[str, tuple[str, ...]]:
    """The text for PostgreSQL with its own $1, $2, …, and the names that they stand for."""
    numbers: dict[str, int] = {}

    def number(placeholder: re.Match[str]) -> str:
        return f"${numbers.setdefault(placeholder[1], len(numbers) + 1)}"

    text = re.sub(r"\s*--.*", "", statement(name, "postgresql"))
    return re.sub(r"%\((\w+)\)s", number, text), tuple(numbers)
