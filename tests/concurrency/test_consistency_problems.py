"""Six classic problems of consistency, as the example project solves them, and real processes that try to break it."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import uuid4

import pytest

from ccc_django import CommandRejected, consumers, store
from ccc_django.consumers import runner
from tests.concurrency.racing import RACERS, race, thoughtful
from tests.portal import accounts, courses, feedback, portal, shop

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures(portal.__name__, thoughtful.__name__)]

NOW = datetime(2030, 1, 1, tzinfo=UTC)
GRACE, HOUR, DAY = timedelta(minutes=10), timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def turns(proof):
    return range(60 if proof else 10)


def log(*types) -> list:
    return [message for message in store.stream() if isinstance(message, types)]


def test_a_course_never_has_more_members_than_seats(turns):
    names = [f"Algebra {turn}" for turn in turns]
    store.append([courses.messages.CourseCreated(course_name=name, capacity=2) for name in names])
    users = ["ann", "bob", "cem", "ann", "dan", "eve"]
    wanted = [[courses.messages.JoinCourse(course_name=name, user_id=user) for user in users] for name in names]
    race(courses.consumers.Enrolment, wanted)
    joined = log(courses.messages.UserJoinedCourse)
    assert Counter(event.course_name for event in joined) == dict.fromkeys(names, 2)
    assert len({(event.course_name, event.user_id) for event in joined}) == len(joined), "nobody sits on two seats"


def test_a_certificate_is_issued_once_for_a_user_and_a_course(turns):
    users = [f"u{turn}" for turn in turns]
    messages = courses.messages
    for user in users:
        store.append(messages.UserRegistered(user_id=user, name=user.upper()))
        store.append(messages.UserJoinedCourse(course_name="Algebra", user_id=user))
    store.append(messages.CourseClosed(course_name="Algebra"))
    race(
        courses.consumers.Certificates,
        [[messages.IssueCertificate(course_name="Algebra", user_id=user) for _ in range(RACERS)] for user in users],
    )
    assert sorted(event.name for event in log(messages.CertificateIssued)) == sorted(map(str.upper, users))


def test_a_user_name_stands_for_one_user_at_a_time(turns):
    """In even turns all want it, in odd ones all give it back; two days are between, which is not enough."""
    messages = accounts.messages

    def command(turn, number):
        kind = messages.ReleaseUserName if turn % 2 else messages.ClaimUserName
        return kind(user_name="ada", user_id=f"u{number}", created_at=NOW + 2 * DAY * turn)

    commands = race(accounts.consumers.UserNames, [[command(turn, n) for n in range(RACERS)] for turn in turns])
    owner, free_from = None, NOW
    happened = log(messages.UserNameClaimed, messages.UserNameReleased)
    for event in happened:
        if isinstance(event, messages.UserNameClaimed):
            assert owner is None, "two have it"
            assert commands[event.causation_id].created_at >= free_from, "it was given away too early"
            owner = event.user_id
        else:
            assert owner == event.user_id, "given back by somebody else"
            owner, free_from = None, event.free_from
    assert len([event for event in happened if isinstance(event, messages.UserNameClaimed)]) > 1


def issue_invoices(turns) -> list:
    messages = shop.messages
    race(
        shop.consumers.Invoices,
        [[messages.IssueInvoice(series="2030", order_id=uuid4()) for _ in range(RACERS)] for _ in turns],
    )
    return log(messages.InvoiceIssued)


def test_invoice_numbers_have_no_gap_and_no_repeat(turns, monkeypatch):
    monkeypatch.setattr(shop.consumers.Invoices, "snapshot_every", 10)
    invoices = issue_invoices(turns)
    assert [invoice.number for invoice in invoices] == list(range(1, RACERS * len(turns) + 1))
    assert len({invoice.order_id for invoice in invoices}) == len(invoices)


def test_without_the_guard_the_race_is_lost(turns, monkeypatch):
    """So the races here can be lost."""
    perform = runner.perform
    monkeypatch.setattr(runner, "perform", lambda actions, _guard=None: perform(actions))
    numbers = [invoice.number for invoice in issue_invoices(turns)]
    assert len(set(numbers)) < len(numbers) == RACERS * len(turns)


def test_a_token_is_good_once_and_not_for_ever(turns):
    messages = accounts.messages
    valid = {"email": "ann@example.org", "valid_until": NOW}
    tokens = [f"token-{turn}" for turn in turns]
    store.append([messages.OptInRequested(token=token, **valid) for token in tokens])
    times = [NOW - HOUR, NOW, NOW - HOUR, NOW + HOUR, NOW - HOUR, NOW]
    commands = race(
        accounts.consumers.OptIn,
        [[messages.ConfirmOptIn(token=token, created_at=time) for time in times] for token in tokens],
    )
    confirmed = log(messages.OptInConfirmed)
    assert sorted(event.token for event in confirmed) == sorted(tokens)
    assert all(commands[event.causation_id].created_at <= NOW for event in confirmed)
    assert {rejected.error for rejected in log(CommandRejected)} == {"TokenUsed", "TokenExpired"}


def test_every_order_had_a_price_that_counted_at_its_place_in_the_log(turns):
    """In each turn one sets a price by hand, while all others buy at the last one; most of them have come too late."""
    messages = shop.messages
    too_late = datetime.now(UTC) + HOUR

    def commands(turn):
        buy = {"article": "atlas", "price": Decimal(turn)}
        late = [messages.BuyArticle(order_id=uuid4(), created_at=too_late, **buy) for _ in range(RACERS - 2)]
        change = messages.ChangePrice(article="atlas", price=Decimal(turn + 1))
        return [*late, change, messages.BuyArticle(order_id=uuid4(), **buy)]

    consumers.handle(messages.ChangePrice(article="atlas", price=Decimal(0)))
    by_id = race(shop.consumers.Checkout, [commands(turn) for turn in turns])
    shown_until: dict[Decimal | None, datetime] = {}
    current, bought = None, 0
    for event in log(messages.PriceChanged, messages.ArticleBought):
        if isinstance(event, messages.PriceChanged):
            shown_until[current], current = event.created_at, event.price
        else:
            until = datetime.max.replace(tzinfo=UTC) if event.price == current else shown_until[event.price] + GRACE
            assert by_id[event.causation_id].created_at <= until, "the price did not count any more"
            bought += 1
    assert bought >= len(turns), "who comes in time gets it"
    assert {rejected.error for rejected in log(CommandRejected)} == {"PriceOutdated"}, "and some came too late"


def test_a_form_that_is_sent_again_and_again_has_one_effect(turns):
    messages = feedback.messages
    ids = sorted(uuid4() for _ in turns)
    form = {"course_name": "Algebra", "text": "I liked it."}
    race(
        feedback.consumers.Feedback,
        [[messages.SubmitFeedback(submission_id=id, **form) for _ in range(RACERS)] for id in ids],
    )
    assert sorted(event.submission_id for event in log(messages.FeedbackReceived)) == ids
    assert sorted(command.submission_id for command in log(messages.TellTeacher)) == ids
