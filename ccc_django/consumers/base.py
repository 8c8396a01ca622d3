"""Consumers: what a group does with its messages, declared in code. Nothing here touches a database."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, TypeVar

from ccc_django.consumers import registry
from ccc_django.messages import Message
from ccc_django.retry import Retry
from ccc_django.wording import first_line

LEASE = timedelta(seconds=60)
TIME_LIMIT = timedelta(minutes=5)
HANDLES = "_ccc_handles"  # what a decorated method is for

Handler = Callable[..., Any]
Method = TypeVar("Method", bound=Handler)
MessageType = type[Message] | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a group is partitioned, or which topics it gets, and how patient it is; without partitions it is shared."""

    group: str
    partition_by: tuple[str, ...]
    retry: Retry | None = None
    lease: timedelta = LEASE
    time_limit: timedelta = TIME_LIMIT
    batch_size: int | None = None
    most_partitions: int | None = None
    topic: str = ""
    namespace: str = ""
    task: str = ""
    mode: str | None = None
    at: Any = None
    is_shared: bool = False

    @property
    def is_of_topics(self) -> bool:
        """Whether the group gets what it subscribes to, and not the whole log."""
        return bool(self.topic or self.namespace or self.task)

    def __post_init__(self) -> None:
        if not self.group:
            raise TypeError("A consumer has a group: group=…")
        if self.lease <= timedelta(0) or self.time_limit <= timedelta(0):
            raise ValueError(f"{self.group}: lease and time_limit are longer than nothing.")
        if self.batch_size is not None and self.batch_size < 1:
            raise ValueError(f"{self.group}: batch_size={self.batch_size}: a batch has one message at least.")
        if self.topic and (self.namespace or self.task):
            raise TypeError(f"{self.group}: a topic, or a namespace and a task.")
        if (self.mode is not None or self.at is not None) and not self.is_of_topics:
            raise TypeError(f"{self.group}: mode and at say where a topic begins: topic=…")


def options(group: str, partition_by: str | Iterable[str] | None, given: dict[str, Any]) -> Options:
    """What a consumer's declaration says."""
    is_of_topics = any(given.get(name) for name in ("topic", "namespace", "task"))
    if partition_by is None and is_of_topics:
        return Options(group=group, partition_by=(), is_shared=True, **given)
    if partition_by is None:
        raise TypeError(f"{group}: say partition_by=[…]; an empty list means one partition with the whole log.")
    names = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
    return Options(group=group, partition_by=names, **given)


def type_name(message_type: MessageType) -> str:
    """The name by which the log knows a type."""
    if isinstance(message_type, str):
        return message_type
    if isinstance(message_type, type) and issubclass(message_type, Message) and message_type.declaration is not None:
        return message_type.type
    raise TypeError(f"{message_type!r} is no message class with a type, nor the name of one.")


class Consumer:
    """A class of which one instance handles one batch of one partition, whose values are ``self.partition``.

    A class without ``group=`` is a base of others.
    """

    options: ClassVar[Options]
    version: ClassVar[int] = 1
    handlers: ClassVar[dict[str, dict[str, Handler]]] = {}

    def __init_subclass__(
        cls,
        *,
        group: str | None = None,
        partition_by: str | Iterable[str] | None = None,
        version: int = 1,
        **given: Any,
    ) -> None:
        super().__init_subclass__()
        refuse_own_names(cls)
        cls.handlers = handlers_of(cls)
        cls.version = version
        if group is not None:
            cls.options = options(group, partition_by, given)
            if cls.options.is_of_topics:
                raise TypeError(f"{cls.__name__} looks at the whole log: topics are for functions, @consumer(topic=…).")
            cls.complete()
        elif partition_by is not None or given:
            raise TypeError(f"{cls.__name__} says how a group is consumed, and not which: group=…")

    def __init__(self, partition: dict[str, Any] | None = None) -> None:
        self.partition = partition or {}

    @classmethod
    def complete(cls) -> None:
        """Called once for a consumer that has a group: refuse what cannot work, and make it known."""
        if not cls.handled_types():
            raise TypeError(f"{cls.__name__} handles no message: decorate a method.")
        if cls.version < 1:
            raise TypeError(f"{cls.__name__}: version={cls.version}: versions begin at 1.")
        registry.register(cls)

    @classmethod
    def group_name(cls) -> str:
        """The group by which this consumer is known in the database."""
        return cls.options.group

    @classmethod
    def handled_types(cls) -> tuple[str, ...]:
        """The types of messages that wake this consumer."""
        raise NotImplementedError

    @classmethod
    def history_types(cls) -> tuple[str, ...]:
        """The types whose history is read again from its beginning: they are never pruned."""
        return ()

    @classmethod
    def types_of(cls, verb: str) -> tuple[str, ...]:
        """The types that methods with this decorator take."""
        return tuple(sorted(cls.handlers.get(verb, ())))

    @classmethod
    def describe(cls) -> str:
        """What it is for, in a line."""
        return first_line(cls.__doc__)


def evolves(*types: MessageType) -> Callable[[Method], Method]:
    """A method that takes the state and a message, and returns the state after it; None if it is the same object."""
    return _handling("evolves", types)


def decides(*types: MessageType) -> Callable[[Method], Method]:
    """A method that takes the state and a command, and returns or yields what follows; a DomainError rejects it."""
    return _handling("decides", types)


def reacts(*types: MessageType) -> Callable[[Method], Method]:
    """A method that takes the state and an event, and returns or yields what is to be done; not while replaying."""
    return _handling("reacts", types)


def _handling(verb: str, types: tuple[MessageType, ...]) -> Callable[[Method], Method]:
    names = tuple(map(type_name, types))
    if not names:
        raise TypeError(f"@{verb}(…) names the types of messages that the method takes.")

    def decorate(method: Method) -> Method:
        marks = [*getattr(method, HANDLES, ()), *((verb, name) for name in names)]
        setattr(method, HANDLES, marks)
        return method

    return decorate


def refuse_own_names(cls: type) -> None:
    """A method called like one of ours would be called instead of it."""
    ours = [base for base in cls.__mro__[1:] if base.__module__.startswith("ccc_django.")]
    for name, method in vars(cls).items():
        if hasattr(method, HANDLES) and any(name in {*vars(base), *base.__annotations__} for base in ours):
            raise TypeError(f"{cls.__name__}: {name} is a name of its own: call the method otherwise.")


def handlers_of(cls: type) -> dict[str, dict[str, Handler]]:
    """Which method takes which type; a class may take a type over from its base."""
    handlers: dict[str, dict[str, Handler]] = {}
    for base in reversed(cls.__mro__):
        own: dict[tuple[str, str], str] = {}
        for name, method in vars(base).items():
            for verb, message_type in getattr(method, HANDLES, ()):
                if (verb, message_type) in own:
                    other = own[verb, message_type]
                    raise TypeError(f"{cls.__name__}: {other} and {name} both say @{verb} of {message_type!r}.")
                own[verb, message_type] = name
                handlers.setdefault(verb, {})[message_type] = method
    return handlers
