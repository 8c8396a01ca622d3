"""Factories: messages for tests by factory-boy, which users subclass: ``build`` makes one, ``create`` appends it."""

from typing import TYPE_CHECKING, Any, TypeVar

from ccc_django import store
from ccc_django.extras import require
from ccc_django.messages import Message

if TYPE_CHECKING:
    from factory.base import Factory, FactoryOptions
else:
    base = require("factory").base
    Factory, FactoryOptions = base.Factory, base.FactoryOptions

M = TypeVar("M", bound=Message)
UNSTORED = "_unstored"  # an argument of our own: the caller appends


class MessageOptions(FactoryOptions):
    """What a factory's Meta says; its model is a message class with a type."""

    def contribute_to_class(self, factory: Any, *args: Any, **kwargs: Any) -> None:
        """Refuse any other model when the factory is declared."""
        super().contribute_to_class(factory, *args, **kwargs)  # type: ignore[no-untyped-call]
        model: Any = self.model
        if not self.abstract and not (isinstance(model, type) and issubclass(model, Message) and model.declaration):
            raise TypeError(f"{factory.__name__} makes messages, and its Meta.model {model!r} has no message type.")


class MessageFactory(Factory[M]):
    """A base for factories of messages; parts of the envelope are declared beside the attributes."""

    _options_class = MessageOptions

    class Meta:
        abstract = True

    @classmethod
    def create_batch(cls, size: int, **kwargs: Any) -> list[M]:
        """Several messages, in one append."""
        made = [cls.create(**kwargs, **{UNSTORED: True}) for _ in range(size)]
        return store.append(made)  # type: ignore[return-value]

    @classmethod
    def _create(cls, model_class: type[M], *args: Any, **kwargs: Any) -> M:
        """Where the strategy is to create, the message is appended."""
        is_unstored = kwargs.pop(UNSTORED, False)
        message = cls._build(model_class, *args, **kwargs)  # type: ignore[no-untyped-call]
        return message if is_unstored else store.append(message)[0]  # type: ignore[return-value]
