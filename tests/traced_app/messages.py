"""A course is joined; much later, somebody is reminded of it."""

from ccc_django import Command, Event


class Join(Command, type="traced.join"):
    course_name: str


class Joined(Event, type="traced.joined"):
    course_name: str


class Remind(Command, type="traced.remind"):
    course_name: str


class Reminded(Event, type="traced.reminded"):
    course_name: str


class Noticed(Event, type="traced.noticed"):
    course_name: str
