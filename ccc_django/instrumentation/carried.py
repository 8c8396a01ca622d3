"""Carried: the values by which messages belong to partitions, from the index, as groups see them."""

from collections.abc import Iterable

from ccc_django.attributes import KeyPair
from ccc_django.models import KeyPair as StoredPair
from ccc_django.models import MessageKeyPair, Shape

Carried = dict[str, list[KeyPair]]


def carried_by(positions: list[int], names: Iterable[str]) -> dict[int, Carried]:
    """For each message its values under some names; not those that only a declared index has given it."""
    entries = list(MessageKeyPair.objects.filter(position__in=positions).values_list("position", "shape", "key_pair"))
    known = StoredPair.objects.filter(digest__in={pair for *_, pair in entries}, name__in=list(names))
    pairs = {digest: KeyPair(name, value) for digest, name, value in known.values_list("digest", "name", "value")}
    shapes = Shape.objects.filter(digest__in={shape for _, shape, _ in entries})
    own = dict(shapes.values_list("digest", "names"))
    found: dict[int, Carried] = {}
    for position, shape, digest in entries:
        pair = pairs.get(digest)
        if pair is not None and pair.name in own.get(shape, ()):
            found.setdefault(position, {}).setdefault(pair.name, []).append(pair)
    return found
