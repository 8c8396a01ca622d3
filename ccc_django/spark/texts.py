"""Texts: canonical values, key pairs and partitions in Spark's SQL, byte for byte as Python makes them.

Expressions are texts, because each part of one that Python builds by functions is a journey to Java.
"""

from collections.abc import Mapping, Sequence

ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
ESCAPES |= {chr(code): f"\\u{code:04x}" for code in range(1, 0x20) if chr(code) not in ESCAPES}


def literal(text: str) -> str:
    """A text of any kind; nothing in it means something to Spark."""
    return "'" + "".join(each if each.isalnum() and each.isascii() else f"\\U{ord(each):08x}" for each in text) + "'"


def column(name: str) -> str:
    """A column of any name."""
    return "`" + name.replace("`", "``") + "`"


def value_at(document: str, field: str) -> str:
    """The value of a field, of a document that was parsed."""
    quote = "'" if '"' in field else '"'
    return f"try_variant_get({document}, {literal(f'$[{quote}{field}{quote}]')}, 'variant')"


def canonical(value: str, kind: str, written: str) -> str:
    """The canonical text of a single value; how a number is written is looked at if it is no small integer."""
    text = f"CAST({value} AS string)"
    return (
        f"CASE WHEN {kind} = 'STRING' THEN concat('s:', {text}) WHEN {kind} = 'BIGINT' THEN concat('i:', {text}) "
        f"WHEN {kind} = 'BOOLEAN' THEN concat('b:', {text}) "
        f"WHEN {kind} LIKE 'DECIMAL%' OR {kind} IN ('DOUBLE', 'FLOAT') THEN {_number(written)} END"
    )


def plain(value: str, kind: str, json: str) -> str:
    """The same of texts, small integers and booleans alone, from their JSON, which Spark has sooner than a cast."""
    text = f"if(contains({json}, '\\\\'), CAST({value} AS string), substr({json}, 2, length({json}) - 2))"
    return (
        f"CASE {kind} WHEN 'STRING' THEN concat('s:', {text}) WHEN 'BIGINT' THEN concat('i:', {json}) "
        f"WHEN 'BOOLEAN' THEN concat('b:', {json}) END"
    )


def canonical_all(value: str, written: str) -> str:
    """The same of every single value in a list, each once."""
    one = canonical("each.v", "schema_of_variant(each.v)", "each.n")
    pairs = f"zip_with(CAST({value} AS array<variant>), {written}, (v, n) -> named_struct('v', v, 'n', n))"
    return f"array_distinct(array_compact(transform({pairs}, each -> {one})))"


def written(payload: str, field: str) -> str:
    """A field as it is written in a payload."""
    return f"from_json({payload}, {literal(f'{column(field)} STRING')}).{column(field)}"


def written_all(payload: str, field: str) -> str:
    """The elements of a list as they are written."""
    return f"from_json({payload}, {literal(f'{column(field)} ARRAY<STRING>')}).{column(field)}"


def _number(text: str) -> str:
    """Integers of any length as they are written; floats, which Java writes otherwise, in the fewest digits."""
    return (
        f"CASE WHEN {text} RLIKE '[.eE]' THEN concat('f:', {_plain(_shortest(f'CAST({text} AS double)'))}) "
        f"ELSE concat('i:', {text}) END"
    )


def _shortest(value: str) -> str:
    """The fewest digits that mean a float, with an exponent; Java before 19 finds more than are needed."""
    forms = ", ".join(f"'%.{count}e'" for count in range(17))
    return (
        f"filter(transform(array({forms}), form -> format_string(form, {value})), t -> CAST(t AS double) = {value})[0]"
    )


def _plain(text: str) -> str:
    """A float without its exponent: digits and exponent are taken out once, and put together."""
    digits = "replace(regexp_extract(t, '^-?([0-9.]+)e', 1), '.', '')"
    parts = f"named_struct('t', t, 'd', {digits}, 'e', CAST(regexp_extract(t, 'e([-+][0-9]+)$', 1) AS int))"
    padded = "rpad(p.d, greatest(length(p.d), p.e + 2), '0')"
    large = f"concat(substr({padded}, 1, p.e + 1), '.', substr({padded}, p.e + 2))"
    small = "concat('0.', repeat('0', -p.e - 1), p.d)"
    whole = f"concat(if(startswith(p.t, '-'), '-', ''), if(p.e < 0, {small}, {large}))"
    return f"transform(transform(array({text}), t -> {parts}), p -> {whole})[0]"


def key_pair_id(name: str, value: str) -> str:
    """The id of a name and a canonical value, as hexadecimal text."""
    return _digest([literal(name), value])


def partition_id(values: Mapping[str, str]) -> str:
    """The id of a partition, as hexadecimal text."""
    return _digest([text for name in sorted(values) for text in (literal(name), values[name])])


def partition_key(values: Mapping[str, str]) -> str:
    """The values of a partition as compact JSON."""
    parts = [f"{_quoted(literal(name))}, ':', {_json(values[name])}" for name in sorted(values)]
    return "concat('{', " + "".join(f"{each}, " for each in _separated(parts)) + "'}')"


def _separated(parts: Sequence[str]) -> list[str]:
    return [text for part in parts for text in ("','", part)][1:]


def joined_prefixed(values: Sequence[str]) -> str:
    """Texts as one, in which no separator can collide; what is missing is a hyphen."""
    return "concat(" + ", ".join(f"coalesce({_prefixed(value)}, '-')" for value in values) + ")"


def _digest(texts: Sequence[str]) -> str:
    prefixed = ", ".join(map(_prefixed, texts)) or "''"
    return f"substring(sha2(concat({prefixed}), 256), 1, 32)"


def _prefixed(text: str) -> str:
    return f"concat(octet_length({text}), ':', {text})"


def _json(value: str) -> str:
    text = f"substr({value}, 3)"
    return (
        f"CASE WHEN startswith({value}, 's:') THEN {_quoted(text)} "
        f"WHEN startswith({value}, 'f:') THEN {_float(text)} ELSE {text} END"
    )


def _quoted(text: str) -> str:
    """A text as JSON; character by character only where one has to be escaped."""
    escapes = ", ".join(f"{literal(one)}, {literal(other)}" for one, other in ESCAPES.items())
    characters = f"regexp_extract_all({text}, '(?s).', 0)"
    escaped = f"array_join(transform({characters}, c -> coalesce(map({escapes})[c], c)), '')"
    needs = literal('[\\x01-\\x1f"\\\\]')
    return f"concat('\"', if({text} RLIKE {needs}, {escaped}, {text}), '\"')"


def _float(text: str) -> str:
    """Small floats have an exponent in JSON: those with five zeros and more behind the point."""
    digits = f"regexp_extract({text}, '^-?0[.]0*([1-9][0-9]*)$', 1)"
    zeros = f"length(regexp_extract({text}, '^-?0[.](0*)', 1))"
    fraction = f"if(length({digits}) > 1, concat('.', substr({digits}, 2)), '')"
    exponent = f"concat(substr({digits}, 1, 1), {fraction}, 'e-', {zeros} + 1)"
    signed = f"concat(if(startswith({text}, '-'), '-', ''), {exponent})"
    return f"if({text} RLIKE '^-?0[.]0{{5}}0*[1-9]', {signed}, {text})"
