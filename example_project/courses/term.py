"""A term at the portal: the messages of courses, students and their orders, made up with a seed."""

import random
from collections.abc import Iterator
from decimal import Decimal

from ccc_django import Message
from ccc_django.envelope import uuid7
from courses.messages import CourseClosed, CourseCreated, JoinCourse, UserRegistered
from shop.messages import OrderPlaced, OrderShipped

SUBJECTS = ["Algebra", "History", "Biology", "Physics", "Poetry", "Logic", "Music", "Chemistry"]
ARTICLES = ["notebook", "pencil", "atlas", "ruler", "compass", "dictionary"]


def course_names(courses: int) -> list[str]:
    """So many names."""
    return [f"{SUBJECTS[number % len(SUBJECTS)]} {number // len(SUBJECTS) + 1}" for number in range(courses)]


def beginning(*, students: int, courses: int, seed: int) -> Iterator[Message]:
    """Courses are offered; students register, want seats, and order what they need."""
    dice = random.Random(seed)
    names = course_names(courses)
    yield from (CourseCreated(course_name=name, capacity=dice.randint(10, 40)) for name in names)
    for number in range(students):
        user = f"student-{number + 1}"
        yield UserRegistered(user_id=user, name=f"Student {number + 1}")
        yield from (JoinCourse(course_name=name, user_id=user) for name in dice.sample(names, k=min(3, courses)))
        yield from ordered(user, dice)


def end(*, courses: int) -> list[Message]:
    """The courses are over."""
    return [CourseClosed(course_name=name) for name in course_names(courses)]


def ordered(user: str, dice: random.Random) -> Iterator[Message]:
    """An order, and its parcel."""
    articles = dice.sample(ARTICLES, k=2)
    total = Decimal(dice.randint(100, 9999)) / 100
    card = f"4111-{dice.randint(1000, 9999)}"
    order = OrderPlaced(order_id=uuid7(), customer_id=user, articles=articles, total=total, card_number=card)
    yield order
    yield order.correlate(OrderShipped(order_id=order.order_id))
