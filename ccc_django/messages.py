"""Messages: immutable typed values. An event is a fact, a command an intent."""

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

from pydantic import BaseModel, ConfigDict
from pydantic_core import from_json

from ccc_django import registry
from ccc_django.attributes import IndexedField, KeyPair, indexed_fields, is_sensitive, key_pairs
from ccc_django.conditions import Condition, condition_value
from ccc_django.declarations import Declaration, declare, refuse_loose_config, refuse_reserved_names
from ccc_django.envelope import Envelope, Given, new_envelope
from ccc_django.plain import is_plain, plain_json
from ccc_django.sealing import checked_parts, returned_exactly, storable_json

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    optional: Any = None

Indexes = Iterable[str | Iterable[str]]  # fields, and combinations of fields
PARTS = frozenset(Given.__annotations__)
RESTORING = object()
KEPT_CONFIG = ConfigDict(
    frozen=True,
    extra="forbid",
    allow_inf_nan=False,
    validate_default=True,
    validate_by_name=True,
    hide_input_in_errors=True,
)


class Parts(dict[str, Any]):
    """The parts of an envelope that a caller gives, on their way through pydantic's validation."""


class Declared:
    """A part of the envelope that a class declares and each of its messages carries."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: "Message | None", owner: "type[Message]") -> Any:
        return getattr(owner.declaration if instance is None else instance.envelope, self.name)


class Message(BaseModel):
    """An immutable typed value with an envelope: ``class CourseCreated(Event, type="course.created")``.

    The fields are the payload. Parts of the envelope (id, topic, created_at, metadata, correlation_id,
    causation_id) may be given beside them.
    """

    model_config = KEPT_CONFIG

    declaration: ClassVar[Declaration | None] = None
    payload_attribute_names: ClassVar[tuple[str, ...]] = ()
    indexes: ClassVar[tuple[str | tuple[str, ...], ...]] = ()
    _indexed_fields: ClassVar[tuple[IndexedField, ...] | None] = None
    _is_plain: ClassVar[bool | None] = None

    if TYPE_CHECKING:  # so that type checkers know the arguments of every message class
        type: ClassVar[str]
        version: ClassVar[int]
        id: UUID = optional
        topic: str = optional
        created_at: datetime = optional
        metadata: Mapping[str, Any] = optional
        correlation_id: UUID = optional
        causation_id: UUID = optional
    else:
        type: ClassVar[Declared] = Declared()
        version: ClassVar[Declared] = Declared()
        topic: ClassVar[Declared] = Declared()
        id = property(lambda self: self.envelope.id)
        created_at = property(lambda self: self.envelope.created_at)
        metadata = property(lambda self: MappingProxyType(deepcopy(self.envelope.metadata)))
        correlation_id = property(lambda self: self.envelope.correlation_id)
        causation_id = property(lambda self: self.envelope.causation_id)

        def __init__(self, /, **values: Any) -> None:
            named = PARTS & values.keys()
            given = Parts({name: values.pop(name) for name in named}) if named else None
            self.__pydantic_validator__.validate_python(values, self_instance=self, context=given)

        __init__.__pydantic_base_init__ = True  # pydantic need not call it: model_post_init does the work

    def __init_subclass__(
        cls, *, type: str | None = None, version: int = 1, topic: str = "", indexes: Indexes = (), **kwargs: Any
    ) -> None:
        names = {*vars(cls), *vars(cls).get("__annotations__", ())}
        refuse_reserved_names(cls, names, reserved=reserved_names())
        super().__init_subclass__(**kwargs)

    @classmethod
    def __pydantic_init_subclass__(
        cls, *, type: str | None = None, version: int = 1, topic: str = "", indexes: Indexes = (), **kwargs: Any
    ) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        aliases = {str(field.alias or field.validation_alias) for field in cls.model_fields.values()}
        refuse_reserved_names(cls, {*cls.model_fields, *aliases}, reserved=reserved_names())
        refuse_loose_config(cls, cls.model_config, KEPT_CONFIG)
        cls.payload_attribute_names = tuple(cls.model_fields)
        cls._indexed_fields = None
        cls._is_plain = None
        cls.indexes = tuple(each if isinstance(each, str) else tuple(each) for each in indexes)
        cls.declaration = None
        if type is not None:
            cls.declaration = declare(cls, type=type, version=version, topic=topic)
            registry.register(cls)

    def model_post_init(self, context: Any) -> None:
        """Seal a new message, however it was made; one that comes from the log has been sealed before."""
        if context is not RESTORING:
            self._seal(context if isinstance(context, Parts) else Parts())

    @classmethod
    def from_stored(cls, payload_json: str) -> Self:
        """A message of this class with a stored payload, and no envelope yet."""
        validate = cls.__pydantic_validator__.validate_json
        return cast("Self", validate(payload_json, context=RESTORING, by_name=True, by_alias=False))

    @classmethod
    def indexed_fields(cls) -> tuple[IndexedField, ...]:
        """The fields that give key pairs, and under which names."""
        if cls._indexed_fields is None:  # not before the first use: annotations may name classes defined later
            cls.model_rebuild()
            cls._indexed_fields = indexed_fields(cls.model_fields)
        return cls._indexed_fields

    @classmethod
    def is_plain(cls) -> bool:
        """Whether the fields are of types that JSON holds exactly, with nothing done to them on the way."""
        if cls._is_plain is None:
            cls.model_rebuild()
            cls._is_plain = is_plain(cls)
        return cls._is_plain

    @classmethod
    def to_conditions(cls, **attributes: Any) -> list[Condition]:
        """One condition for each given attribute by which messages of this class are found."""
        rules: dict[str, list[IndexedField]] = {}
        for rule in cls.indexed_fields():
            rules.setdefault(rule.name, []).append(rule)
        return [
            Condition(cls.type, name, condition_value(cls, rules[name], attributes[name]))
            for name in rules
            if name in attributes
        ]

    @property
    def envelope(self) -> Envelope:
        """Everything that this message carries besides its payload."""
        return cast("Envelope", self.__dict__["_envelope"])

    @property
    def position(self) -> int | None:
        """The place in the log, once the message is stored."""
        return self.envelope.position

    @property
    def payload(self) -> dict[str, Any]:
        """The attributes by name."""
        return self._attributes()

    @property
    def payload_json(self) -> str:
        """The payload as the log stores it."""
        return cast("str", self.__dict__["_payload_json"])

    @property
    def key_pairs(self) -> tuple[KeyPair, ...]:
        """The names and values by which this message is found, each once."""
        tags = self.envelope.metadata.get("tags", ())
        return key_pairs(from_json(self.payload_json), self.indexed_fields(), tags)

    def correlate(self, message: "M") -> "M":
        """A copy of another message that names this one as its cause and belongs to the same trace."""
        return message._with(causation_id=self.id, correlation_id=self.correlation_id)  # noqa: SLF001

    def with_metadata(self, **metadata: Any) -> Self:
        """A copy with more metadata."""
        given = checked_parts(self, Parts(metadata={**self.metadata, **metadata}))
        return self._with(**given)

    def with_payload(self, **attributes: Any) -> Self:
        """A copy with other attributes, checked like a new message."""
        given = {name: getattr(self, name) for name in PARTS}
        return type(self)(**{**self.payload, **attributes}, **given)

    def placed(self, position: int, appended_at: "datetime") -> Self:
        """A copy that knows its place in the log."""
        return self._in(self.envelope._replace(position=position, appended_at=appended_at))

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy; with an update it is checked like a new message."""
        return self.with_payload(**update) if update else super().model_copy(deep=deep)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        same_envelope = self.__dict__.get("_envelope") == other.__dict__.get("_envelope")
        return same_envelope and self.payload == other.payload

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for name, field in type(self).model_fields.items():
            yield name, "…" if is_sensitive(field) else getattr(self, name)

    def _attributes(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in self.payload_attribute_names}

    def _seal(self, given: Parts) -> None:
        if self.declaration is None:
            raise TypeError(f"{type(self).__name__} has no message type: declare one with type=…")
        payload_json = plain_json(self) if self.is_plain() else None
        if payload_json is None:
            payload_json = storable_json(self, self.indexed_fields())
            self.__dict__.update(returned_exactly(self, type(self).from_stored, payload_json))
        parts = checked_parts(self, given) if given else Given()
        declared = self.declaration
        envelope = new_envelope(type=declared.type, version=declared.version, topic=declared.topic, given=parts)
        self.__dict__.update(_payload_json=payload_json, _envelope=envelope)

    def _with(self, **parts: Any) -> Self:
        return self._in(self.envelope._replace(**parts, position=None, appended_at=None))

    def _in(self, envelope: Envelope) -> Self:
        copy = self.__class__.__new__(self.__class__)
        object.__setattr__(copy, "__dict__", {**self.__dict__, "_envelope": envelope})
        object.__setattr__(copy, "__pydantic_fields_set__", self.__pydantic_fields_set__)
        object.__setattr__(copy, "__pydantic_extra__", None)
        object.__setattr__(copy, "__pydantic_private__", None)
        return copy


def noted(message: "M", **notes: str) -> "M":
    """A copy whose metadata also has some notes of ours; the message as it is, if it has one of them by itself."""
    if not notes or not notes.keys().isdisjoint(message.envelope.metadata):
        return message
    metadata = {**message.envelope.metadata, **notes}
    return message._in(message.envelope._replace(metadata=metadata))  # noqa: SLF001 - a method would be a name that payloads cannot have


def in_topic(message: "M", topic: str) -> "M":
    """A copy that is published in a topic, whatever its class says."""
    return message._with(topic=topic)  # noqa: SLF001 - as above


def reserved_names() -> frozenset[str]:
    """What a payload attribute cannot be called: every public name of a message, except pydantic's own."""
    names = (name for name in vars(Message) if not name.startswith(("_", "model_")))
    return frozenset({*names, "model_post_init"})


class Event(Message):
    """A fact: something that has happened."""


class Command(Message):
    """An intent: something that somebody wants to happen."""


M = TypeVar("M", bound=Message)
