"""Functions as consumers: ``@consumer(…)`` makes one of any function that takes a message, or a batch of them."""

import inspect
from collections.abc import Callable, Iterable
from functools import update_wrapper
from typing import Any

from ccc_django.consumers import registry
from ccc_django.consumers.actions import Action, actions_of
from ccc_django.consumers.base import MessageType, Options, options, type_name
from ccc_django.messages import Message
from ccc_django.wording import first_line

Function = Callable[..., Any]


class FunctionConsumer:
    """A function that is called for each message, in order, within the transaction that acks it.

    It still can be called as the function that it was.
    """

    version = 1
    __qualname__: str

    def __init__(
        self, function: Function, given: Options, types: tuple[str, ...], *, batch: bool, in_transaction: bool
    ) -> None:
        update_wrapper(self, function)
        self.function = function
        self.options = given
        self.types = types
        self.batch = batch
        self.in_transaction = in_transaction
        self.takes_claim = "claim" in inspect.signature(function).parameters
        self._refuse_without_parameter()

    def _refuse_without_parameter(self) -> None:
        given = {"claim": None} if self.takes_claim else {}
        try:
            inspect.signature(self.function).bind(object(), **given)
        except TypeError as problem:
            what = "a list of messages" if self.batch else "a message"
            raise TypeError(f"{self.__qualname__} is called with {what}: {problem}.") from None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function itself."""
        return self.function(*args, **kwargs)

    def group_name(self) -> str:
        """The group by which this consumer is known in the database."""
        return self.options.group

    def handled_types(self) -> tuple[str, ...]:
        """The types of messages that wake this consumer."""
        return self.types

    def history_types(self) -> tuple[str, ...]:
        """A function reads no history."""
        return ()

    def describe(self) -> str:
        """What it is for, in a line."""
        return first_line(self.function.__doc__)

    def actions(self, messages: list[Message], claim: Any) -> list[Action]:
        """Call the function with one message, or with a batch of them; what it returns is to be done."""
        given: Any = messages if self.batch else messages[0]
        result = self.function(given, claim=claim) if self.takes_claim else self.function(given)
        return actions_of(result, cause=messages[-1])


def consumer(
    *,
    group: str,
    partition_by: str | Iterable[str] | None = None,
    handles: MessageType | Iterable[MessageType] = (),
    batch: bool = False,
    in_transaction: bool = True,
    **given: Any,
) -> Callable[[Function], FunctionConsumer]:
    """Let a function handle the messages of a group.

    With ``batch=True`` it takes a list of messages of one partition. What it writes to the database is committed with
    the ack; ``in_transaction=False`` lets it run before that, for work that takes long and writes nothing. With
    ``topic=…``, ``namespace=…`` or ``task=…`` the group subscribes to that, and without ``partition_by`` it is shared.
    """
    listed = [handles] if isinstance(handles, str | type) else [*handles]
    types = tuple(sorted({*map(type_name, listed)}))
    declared = options(group, partition_by, given)
    if not types and not declared.is_shared:
        raise TypeError(f"{group}: handles=[…] names one type of messages at least.")

    def decorate(function: Function) -> FunctionConsumer:
        made = FunctionConsumer(function, declared, types, batch=batch, in_transaction=in_transaction)
        registry.register(made)
        return made

    return decorate
