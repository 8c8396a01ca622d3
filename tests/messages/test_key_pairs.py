"""Key pairs: which attributes of a message can be used to find it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, NewType
from uuid import UUID

import pytest
from pydantic import AwareDatetime, BaseModel, Field

from ccc_django import Event, Indexed, KeyPair, Sensitive, Unindexed, key_pair_id
from ccc_django.attributes import TAG, is_scalar
from tests.domain import UserJoinedCourse

UserId = NewType("UserId", str)


class Address(BaseModel):
    city: str


class OrderPlaced(Event, type="order.placed"):
    order_id: UUID
    customer: UserId | None = None
    total: Annotated[Decimal, Field(ge=0)] = Decimal(0)
    express: bool = False
    channel: Literal["web", "shop"] = "web"
    address: Address | None = None
    lines: list[str] = []
    note: Annotated[str, Unindexed] = ""
    card: Annotated[str, Sensitive] = ""
    pin: Annotated[str, Sensitive] | None = None
    anything: Any = None


class TeamFormed(Event, type="team.formed"):
    leader: Annotated[str, Indexed(name="user_id")]
    members: Annotated[list[str | None], Indexed(name="user_id")]
    skills: Annotated[set[str], Indexed] = set()


def pairs(event: Event) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in event.key_pairs:
        found.setdefault(name, []).append(value)
    return found


def test_each_declared_scalar_is_a_pair():
    event = UserJoinedCourse(course_name="Algebra", user_id="joe")
    assert event.key_pairs == (KeyPair("course_name", "s:Algebra"), KeyPair("user_id", "s:joe"))
    assert [pair.id for pair in event.key_pairs] == [
        key_pair_id("course_name", "Algebra"),
        key_pair_id("user_id", "joe"),
    ]


def test_only_scalars_that_are_not_opted_out_are_pairs():
    order = UUID("01890a5d-ac96-774b-bcce-b302099a8057")
    event = OrderPlaced(
        order_id=order,
        customer="joe",
        note="n",
        card="4111",
        pin="0",
        lines=["a"],
        address=Address(city="Rome"),
        anything="x",
    )
    assert pairs(event) == {
        "order_id": [f"s:{order}"],
        "customer": ["s:joe"],
        "total": ["s:0"],
        "express": ["b:false"],
        "channel": ["s:web"],
    }


def test_none_gives_no_pair():
    assert "customer" not in pairs(OrderPlaced(order_id=UUID(int=1)))


def test_an_indexed_list_gives_a_pair_for_each_element_once():
    event = TeamFormed(leader="ann", members=["joe", "ann", None, "joe"], skills={"sql"})
    assert pairs(event) == {"user_id": ["s:ann", "s:joe"], "skills": ["s:sql"]}


def test_tags_are_pairs_under_a_reserved_name():
    event = UserJoinedCourse(course_name="Algebra", user_id="joe", metadata={"tags": ["vip", "vip", "new"]})
    assert pairs(event)[TAG] == ["s:vip", "s:new"]
    assert not TAG.isidentifier(), "no payload attribute can have this name"


def test_annotations_may_name_classes_that_are_defined_later():
    class Moved(Event, type="moved"):
        to: "Room | None" = None

    class Room(str):
        __slots__ = ()

        @classmethod
        def __get_pydantic_core_schema__(cls, source, handler):
            return handler(str)

    assert Moved.payload_attribute_names == ("to",)
    Moved.model_rebuild(_types_namespace={"Room": Room})
    assert pairs(Moved(to="12")) == {"to": ["s:12"]}


class Plain(Enum):
    A = 1


class Point(NamedTuple):
    x: int


@dataclass
class Box:
    size: int


@pytest.mark.parametrize(
    "annotation",
    [
        str,
        int,
        float,
        bool,
        Decimal,
        date,
        datetime,
        UUID,
        Plain,
        UserId,
        AwareDatetime,
        Literal["a"],
        str | None,
        Annotated[str, "x"],
        int | list[int],
    ],
)
def test_a_scalar(annotation):
    assert is_scalar(annotation)


@pytest.mark.parametrize(
    "annotation",
    [
        list,
        list[str],
        dict,
        dict[str, str],
        set[int],
        tuple[int, ...],
        Sequence[str],
        Address,
        Box,
        Point,
        Any,
        object,
        None,
        bytes,
        list[str] | None,
    ],
)
def test_not_a_scalar(annotation):
    assert not is_scalar(annotation)
