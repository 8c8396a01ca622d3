"""The decisions of the example project, without a database: given what has happened, when a command comes."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import uuid4

import pytest

from ccc_django.testing import given
from tests.portal import accounts, courses, feedback, portal, shop

pytestmark = pytest.mark.usefixtures(portal.__name__)

NOW = datetime(2030, 1, 1, tzinfo=UTC)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def check(history, command, outcome):
    """What follows is a message, or a refusal that says why."""
    scenario = given(*history).when(command)
    scenario.then_raises(outcome, match=".") if isinstance(outcome, type) else scenario.then(outcome)


CREATED = courses.messages.CourseCreated(course_name="Algebra", capacity=2)
CLOSED = courses.messages.CourseClosed(course_name="Algebra")
JOIN = courses.messages.JoinCourse(course_name="Algebra", user_id="joe")
JOE, ANN, BOB = [
    courses.messages.UserJoinedCourse(course_name="Algebra", user_id=user) for user in ("joe", "ann", "bob")
]
ELSEWHERE = courses.messages.UserJoinedCourse(course_name="Logic", user_id="joe")


@pytest.mark.parametrize(
    ("history", "outcome"),
    [
        ([], courses.consumers.CourseNotOpen),
        ([CREATED], JOE),
        ([CREATED, ANN], JOE),
        ([CREATED, ELSEWHERE], JOE),
        ([CREATED, JOE], courses.consumers.AlreadyJoined),
        ([CREATED, ANN, BOB], courses.consumers.CourseFull),
        ([CREATED, CLOSED], courses.consumers.CourseNotOpen),
        ([CREATED, ANN, BOB, CLOSED, CREATED], JOE),
    ],
)
def test_a_seat_is_given_while_there_is_one(history, outcome):
    check(history, JOIN, outcome)


def test_the_last_seat_is_given_once():
    ann = courses.messages.JoinCourse(course_name="Algebra", user_id="ann")
    scenario = given(CREATED, BOB).when(JOIN, ann)
    scenario.then_raises(courses.consumers.CourseFull).then_state(courses.consumers.Course(2, True, ["bob", "joe"]))


def test_a_course_is_created_and_closed_once():
    create = courses.messages.CreateCourse(course_name="Algebra", capacity=2)
    close = courses.messages.CloseCourse(course_name="Algebra")
    given().when(create).then(CREATED)
    given(CREATED).when(create).then_raises(courses.consumers.CourseNameTaken)
    given(CREATED).when(close).then(CLOSED)
    given(CREATED, CLOSED).when(close).then_raises(courses.consumers.CourseNotOpen)


def test_a_roster_shows_who_is_in_a_course():
    roster = courses.consumers.CourseRoster
    given(CREATED, JOE, ELSEWHERE, consumer=roster).when(ANN).then_state(["joe", "ann"]).then_nothing()


REGISTERED = courses.messages.UserRegistered(user_id="joe", name="Joe")
CERTIFIED = courses.messages.CertificateIssued(course_name="Algebra", user_id="joe", name="Joe")


@pytest.mark.parametrize(
    ("history", "outcome"),
    [
        ([REGISTERED, JOE, CLOSED], CERTIFIED),
        ([JOE, CLOSED], courses.consumers.NoCertificate),
        ([REGISTERED, CLOSED], courses.consumers.NoCertificate),
        ([REGISTERED, ANN, CLOSED], courses.consumers.NoCertificate),
        ([REGISTERED, JOE], courses.consumers.NoCertificate),
        ([REGISTERED, JOE, CLOSED, CERTIFIED], courses.consumers.NoCertificate),
    ],
)
def test_a_certificate_is_for_those_who_were_there_to_the_end(history, outcome):
    check(history, courses.messages.IssueCertificate(course_name="Algebra", user_id="joe"), outcome)


ADA = {"user_name": "ada", "user_id": "u1"}
CLAIMED = accounts.messages.UserNameClaimed(**ADA)
CLAIMED_AGAIN = accounts.messages.UserNameClaimed(user_name="ada", user_id="u2")
RELEASED = accounts.messages.UserNameReleased(**ADA, free_from=NOW + 3 * DAY)


@pytest.mark.parametrize(
    ("history", "at", "outcome"),
    [
        ([], NOW, CLAIMED_AGAIN),
        ([CLAIMED], NOW + 99 * DAY, accounts.consumers.UserNameTaken),
        ([CLAIMED, RELEASED], NOW + 2 * DAY, accounts.consumers.UserNameTaken),
        ([CLAIMED, RELEASED], NOW + 3 * DAY, CLAIMED_AGAIN),
    ],
)
def test_a_user_name_is_free_some_days_after_its_release(history, at, outcome):
    check(history, accounts.messages.ClaimUserName(user_name="ada", user_id="u2", created_at=at), outcome)


def test_only_who_has_a_user_name_can_release_it():
    release = accounts.messages.ReleaseUserName(**ADA, created_at=NOW)
    stranger = accounts.messages.ReleaseUserName(user_name="ada", user_id="u2")
    given(CLAIMED).when(release).then(RELEASED)
    given(CLAIMED).when(stranger).then_raises(accounts.consumers.NotYourUserName)
    given(CLAIMED, RELEASED).when(release).then_raises(accounts.consumers.NotYourUserName)


TOKEN = {"token": "t", "email": "ann@example.org"}
REQUESTED = accounts.messages.OptInRequested(**TOKEN, valid_until=NOW + DAY)
CONFIRMED = accounts.messages.OptInConfirmed(**TOKEN)


@pytest.mark.parametrize(
    ("history", "at", "outcome"),
    [
        ([], NOW, accounts.consumers.TokenUnknown),
        ([REQUESTED], NOW + DAY, CONFIRMED),
        ([REQUESTED], NOW + DAY + MINUTE, accounts.consumers.TokenExpired),
        ([REQUESTED, CONFIRMED], NOW, accounts.consumers.TokenUsed),
    ],
)
def test_a_token_is_good_once_and_for_a_day(history, at, outcome):
    check(history, accounts.messages.ConfirmOptIn(token="t", created_at=at), outcome)


def test_a_token_is_made_up_for_one_request():
    command = accounts.messages.RequestOptIn(**TOKEN, created_at=NOW)
    given().when(command).then(REQUESTED)
    given(REQUESTED).when(command).then_raises(accounts.consumers.TokenUsed)


def priced(price, at):
    return shop.messages.PriceChanged(article="atlas", price=Decimal(price), created_at=at)


PRICES = [priced(10, NOW - DAY), priced(12, NOW), priced(14, NOW + 5 * MINUTE)]


@pytest.mark.parametrize(
    ("price", "at", "is_sold"),
    [
        (14, NOW + DAY, True),
        (12, NOW + 15 * MINUTE, True),
        (12, NOW + 16 * MINUTE, False),
        (10, NOW + 10 * MINUTE, True),
        (10, NOW + 11 * MINUTE, False),
        (11, NOW, False),
    ],
)
def test_a_price_counts_for_ten_minutes_more(price, at, is_sold):
    order = {"article": "atlas", "price": Decimal(price), "order_id": uuid4()}
    outcome = shop.messages.ArticleBought(**order) if is_sold else shop.consumers.PriceOutdated
    check(PRICES, shop.messages.BuyArticle(**order, created_at=at), outcome)


def test_what_has_no_price_is_not_sold():
    order = {"article": "atlas", "price": Decimal(1), "order_id": uuid4()}
    given().when(shop.messages.BuyArticle(**order)).then_raises(shop.consumers.PriceOutdated)


def test_an_invoice_gets_the_next_number():
    orders = [{"series": "2030", "order_id": uuid4()} for _ in range(4)]
    one, two, three, four = [shop.messages.InvoiceIssued(number=n, **order) for n, order in enumerate(orders, 1)]
    commands = [shop.messages.IssueInvoice(**order) for order in orders]
    given().when(commands[0]).then(one)
    given(one, two).when(*commands[2:]).then(three, four)


def test_feedback_is_received_once():
    form = {"submission_id": uuid4(), "course_name": "Algebra", "text": "I liked it."}
    command = feedback.messages.SubmitFeedback(**form)
    received = feedback.messages.FeedbackReceived(**form)
    tell = feedback.messages.TellTeacher(submission_id=form["submission_id"], course_name="Algebra")
    given().when(command).then(received)
    given(received).when(command).then_raises(feedback.consumers.AlreadySubmitted)
    given(consumer=feedback.consumers.Feedback).when(received).then(tell)
