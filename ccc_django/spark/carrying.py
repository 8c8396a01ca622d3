"""Carrying: the values of a partition's attributes that each message carries, told from its payload.

Which attributes a message carries was decided when it was appended, and stands in its row; where it does not, because
the message is older than that column, its payload and its class decide.
"""

from collections.abc import Callable, Iterable

from pyspark.sql import DataFrame

from ccc_django.attributes import TAG
from ccc_django.messages import Message
from ccc_django.spark.texts import canonical, canonical_all, column, literal, plain, value_at, written, written_all

CLOSELY = "_closely"
DOCUMENT = "_document"
PLAIN = "'STRING', 'BIGINT', 'BOOLEAN', 'VOID'"  # values that can be told without a closer look, or are none
Fields = tuple[tuple[str, bool], ...]  # each with whether it may be a list
Rules = dict[Fields, list[str]]  # the types that have an attribute in these


def with_plain(log: DataFrame, names: Iterable[str], classes: Iterable[type[Message]]) -> DataFrame:
    """Messages with the single values that can be told at a glance, which are most; what others need is aside.

    Lists, floats and errors take expressions that Spark does not compile: a plan with them would be slow for all.
    """
    rules = {name: _rules(name, classes) for name in names}
    steps = [
        *_taken_out(_fields(rules)),
        {_part("json", field): f"to_json({_of('value', field)})" for field in _fields(rules)},
        {_part("text", field): _glance(field) for field in _fields(rules)},
        _said(names) | {_part("one", name): _by_type(rules[name], _single) for name in names},
        {single_of(name): _single_carried(name) for name in names}
        | {_part("closely", name): f"{_by_type(rules[name], _is_special)} OR {_is_missing(name)}" for name in names},
        {CLOSELY: _if_any([_of("closely", name) for name in names], "struct(message_type, payload, attributes)")},
    ]
    return _in_steps(log, steps).select(*log.columns, *(column(single_of(name)) for name in names), CLOSELY)


def with_carried(log: DataFrame, names: Iterable[str], classes: Iterable[type[Message]]) -> DataFrame:
    """Messages with two columns for each name: the canonical value that they carry, or several of them; or neither.

    In several steps: Spark would look at a value anew each time that an expression names it.
    """
    rules = {name: _rules(name, classes) for name in names if name != TAG}
    steps = [
        *_taken_out(_fields(rules)),
        {_part("text", field): _text(field) for field in _fields(rules)},
        _said(names)
        | {_part("one", name): NOTHING if name == TAG else _by_type(rules[name], _single) for name in names}
        | {_part("all", name): TAGS if name == TAG else _by_type(rules[name], _several) for name in names},
        {single_of(name): _single_carried(name) for name in names}
        | {several_of(name): _carried(name) for name in names},
    ]
    carried = (each for name in names for each in (single_of(name), several_of(name)))
    return _in_steps(log, steps).select(*log.columns, *map(column, carried))


def _in_steps(log: DataFrame, steps: Iterable[dict[str, str]]) -> DataFrame:
    for step in steps:
        log = log.selectExpr("*", *(f"{text} AS {column(name)}" for name, text in step.items()))
    return log


def _fields(rules: dict[str, "Rules"]) -> list[str]:
    return sorted({field for by_fields in rules.values() for fields in by_fields for field, _ in fields})


def _taken_out(fields: list[str]) -> list[dict[str, str]]:
    """Values of fields, and of which kind they are."""
    return [
        {DOCUMENT: "try_parse_json(payload)"},
        {_part("value", field): value_at(DOCUMENT, field) for field in fields},
        {_part("kind", field): f"schema_of_variant({_of('value', field)})" for field in fields},
    ]


def _said(names: Iterable[str]) -> dict[str, str]:
    return {_part("said", name): f"array_contains(attributes, {literal(name)})" for name in names}


def _single_carried(name: str) -> str:
    return f"CASE WHEN {_may(name)} THEN {_of('one', name)} END"


def _if_any(conditions: list[str], value: str) -> str:
    return f"CASE WHEN {' OR '.join(conditions)} THEN {value} END"


def single_of(name: str) -> str:
    """The column with the value of an attribute that a message carries once, as most do."""
    return f"carried.{name}"


def several_of(name: str) -> str:
    """The column with its values, if a message has them in a list or in several fields."""
    return f"carried all.{name}"


def _rules(name: str, classes: Iterable[type[Message]]) -> Rules:
    """The types that have an attribute in the same fields; what has no class has it in a field of its name.

    Without any field are classes that do not index it now. Some may have done so, and then say so in their rows.
    """
    rules: Rules = {((name, True),): []}
    for each in classes:
        fields = tuple((rule.field, rule.maximum is not None) for rule in each.indexed_fields() if rule.name == name)
        rules.setdefault(fields, []).append(each.type)
    return rules


def _text(field: str) -> str:
    return canonical(_of("value", field), _of("kind", field), written("payload", field))


def _glance(field: str) -> str:
    return plain(_of("value", field), _of("kind", field), _of("json", field))


def _is_special(fields: Fields) -> str:
    """Whether a value is there that a glance does not tell."""
    kinds = [_of("kind", field) for field, _ in fields]
    return f"{kinds[0]} NOT IN ({PLAIN})" if len(kinds) == 1 else f"coalesce({', '.join(kinds)}) IS NOT NULL"


def _is_missing(name: str) -> str:
    return f"({_of('said', name)} AND {_of('one', name)} IS NULL)"


def _by_type(rules: Rules, told: Callable[[Fields], str]) -> str:
    usual, *others = rules
    found = told(usual)
    for fields in others:
        types = ", ".join(map(literal, rules[fields]))
        value = told(fields) if fields else f"CASE WHEN attributes IS NOT NULL THEN {told(usual)} END"
        found = f"CASE WHEN message_type IN ({types}) THEN {value} ELSE {found} END"
    return found


def _single(fields: Fields) -> str:
    return NOTHING if len(fields) > 1 else _of("text", fields[0][0])


def _several(fields: Fields) -> str:
    if len(fields) > 1:
        several = ", ".join(_value(field, may_be_list=may_be_list) for field, may_be_list in fields)
        return f"array_distinct(flatten(array_compact(array({several}))))"
    [(field, may_be_list)] = fields
    return _listed(field) if may_be_list else NO_LIST


def _value(field: str, *, may_be_list: bool) -> str:
    single = f"WHEN {_of('text', field)} IS NOT NULL THEN array({_of('text', field)})"
    return f"CASE {single} ELSE {_listed(field) if may_be_list else NO_LIST} END"


def _listed(field: str) -> str:
    values = canonical_all(_of("value", field), written_all("payload", field))
    return f"CASE WHEN {_of('kind', field)} LIKE 'ARRAY%' THEN {values} END"


def _may(name: str) -> str:
    """Only what was indexed when the message was appended is carried."""
    return f"(attributes IS NULL OR {_of('said', name)})"


def _carried(name: str) -> str:
    """A value that is missing, though it was indexed, is an error, not a guess."""
    told = f" was indexed by {name!r}, and its payload does not tell the value: "
    why = f"if({DOCUMENT} IS NULL, 'Spark cannot read it as JSON', 'its class has it in no field now')"
    missing = f"raise_error(concat('The message at ', position, {literal(told)}, {why}, '.'))"
    return (
        f"CASE WHEN {_of('one', name)} IS NOT NULL THEN {NO_LIST} "
        f"WHEN size({_of('all', name)}) > 0 AND {_may(name)} THEN {_of('all', name)} "
        f"WHEN {_of('said', name)} THEN CAST({missing} AS array<string>) END"
    )


NOTHING, NO_LIST = "CAST(NULL AS string)", "CAST(NULL AS array<string>)"
TAGS = "array_distinct(transform(from_json(metadata, 'tags ARRAY<STRING>').tags, tag -> concat('s:', tag)))"


def _part(step: str, name: str) -> str:
    return f"_{step}.{name}"


def _of(step: str, name: str) -> str:
    return column(_part(step, name))
