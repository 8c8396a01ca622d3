"""Projections: look at what projectors have stored, in the live version; build others beside it, and switch."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from ccc_django import groups
from ccc_django.conf import conf
from ccc_django.consumers import registry, states
from ccc_django.consumers.projector import Projector
from ccc_django.errors import ProjectionNotReady, UnknownConsumer, UnknownGroup
from ccc_django.models import ConsumerGroup, Projection, ProjectionState
from ccc_django.partitions import partition_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of a projection: whether it is live, whether code for it is there, and how far it is."""

    projection: str
    version: int
    is_live: bool
    is_declared: bool
    partitions: int
    lag: int | None
    failures: int = 0


def state(name: str, /, **partition: Any) -> Any:
    """The state of a partition in the live version, as its projector made it; None if nothing has come yet."""
    version = live_version(name)
    projector = _projectors(name).get(version)
    _refuse_unknown(name, projector, partition)
    kept = states.read(name, version, partition_of(partition))
    if not kept.position or projector is None:
        return kept.state
    if projector.keeps_its_own():
        return projector(partition).load()
    return projector.restored_state(kept.state)


def _refuse_unknown(name: str, projector: type[Projector] | None, partition: dict[str, Any]) -> None:
    if projector is None and not Projection.objects.filter(name=name).exists():
        raise UnknownConsumer(f"There is no projection {name!r}. There are: {', '.join(sorted(_names())) or 'none'}.")
    if projector is not None and {*projector.options.partition_by} != partition.keys():
        wanted = ", ".join(projector.options.partition_by) or "nothing"
        raise ValueError(f"{name} has states by {wanted}: give their values.")


def live_version(name: str) -> int:
    """The version to look at."""
    found = Projection.objects.filter(name=name).values_list("live_version", flat=True).first()
    return min(_projectors(name), default=1) if found is None else found


def versions(name: str | None = None) -> list[Version]:
    """Every version that is declared or stored, of one projection or of all."""
    names = [name] if name else sorted({*Projection.objects.values_list("name", flat=True), *_names()})
    return [_described(each, version) for each in names for version in _known(each)]


def switch(name: str, *, to: int | None = None, within: int = 0, despite_failures: bool = False) -> Version:
    """Let another version be the one to look at: the newest, or a certain one, once its lag is within a limit.

    Messages that it gave up on are missing from it: that is refused, unless it is wanted.
    """
    wanted = max(_known(name), default=1) if to is None else to
    if wanted not in _known(name):
        raise ProjectionNotReady(f"{name} has no version {wanted}: declare it, and let workers build it.")
    version = _described(name, wanted)
    if version.lag is None:
        raise ProjectionNotReady(f"{name} {wanted} has not begun: run manage.py consume.")
    if version.lag > within:
        raise ProjectionNotReady(
            f"{name} {wanted} is {version.lag} behind: wait, or allow that with within={version.lag}."
        )
    if version.failures and not despite_failures:
        raise ProjectionNotReady(
            f"{name} {wanted} lacks messages: {version.failures} failures. Replay its dead letters, or allow that with "
            "despite_failures=True."
        )
    Projection.objects.update_or_create(name=name, defaults={"live_version": wanted, "switched_at": Now()})
    return _described(name, wanted)


def drop(name: str, *, version: int) -> int:
    """Forget a version, its states and its progress; how many states there were.

    The live one can be dropped if it is the last, and its code is gone.
    """
    is_last = _known(name) == [version] and version not in _projectors(name)
    if live_version(name) == version and not is_last:
        raise ProjectionNotReady(f"{name} {version} is live: switch to another version first, or remove its code.")
    with transaction.atomic(using=conf.database):
        if is_last:
            Projection.objects.filter(name=name).delete()
        count = _forget(name, version)
        if ConsumerGroup.objects.filter(name=_group_name(name, version)).exists():
            groups.delete(_group_name(name, version))
            count += _forget(name, version)
    return count


def rebuild(name: str, *, version: int | None = None) -> None:
    """Forget the states of a version, the live one if none is given, and build them again from the beginning."""
    wanted = live_version(name) if version is None else version
    projector = _projectors(name).get(wanted)
    if projector is None:
        raise UnknownConsumer(f"There is no projector {name!r} of version {wanted}: nothing could build it again.")
    with transaction.atomic(using=conf.database):
        _forget(name, wanted)
        groups.reset(projector.group_name())
        _forget(name, wanted)


def preview(verb: str, name: str, version: int | None = None) -> str:
    """What forgetting the states of a version means, in a sentence."""
    found = _described(name, live_version(name) if version is None else version)
    seen = f"version {found.version}{', which is live' if found.is_live else ''}"
    then = "Workers build them again." if verb == "rebuild" else "Its progress is forgotten, too."
    return f"The states of {found.partitions:,} partitions of {name}, {seen}, are forgotten. {then}"


def _forget(name: str, version: int) -> int:
    """Delete states; before offsets are locked, in the order of whoever commits a batch, and again behind the fence."""
    projector = _projectors(name).get(version)
    if projector is not None and projector.keeps_its_own():
        projector.clear()
    count, _ = ProjectionState.objects.filter(projection=name, version=version).delete()
    return count


def _projectors(name: str) -> dict[int, type[Projector]]:
    known = (each for each in registry.consumers() if isinstance(each, type) and issubclass(each, Projector))
    return {each.version: each for each in known if each.options.group == name}


def _names() -> set[str]:
    known = (each for each in registry.consumers() if isinstance(each, type) and issubclass(each, Projector))
    return {each.options.group for each in known}


def _known(name: str) -> list[int]:
    stored = ProjectionState.objects.filter(projection=name).values_list("version", flat=True).distinct()
    live = Projection.objects.filter(name=name).values_list("live_version", flat=True)
    return sorted({*stored, *live, *_projectors(name)})


def _described(name: str, version: int) -> Version:
    lag, failures = None, 0
    with suppress(UnknownGroup):
        status = groups.status(_group_name(name, version))
        lag, failures = status.lag, status.failures + status.dead_letters
    return Version(
        projection=name,
        version=version,
        is_live=live_version(name) == version,
        is_declared=version in _projectors(name),
        partitions=ProjectionState.objects.filter(projection=name, version=version).count(),
        lag=lag,
        failures=failures,
    )


def _group_name(name: str, version: int) -> str:
    return name if version == 1 else f"{name}@{version}"
