"""Wording: what our log lines say, in one place; each stage has a logger of its own, ``ccc_django.<stage>``.

A line has a sentence for people and the same facts as fields of the record, for whoever writes JSON: ``stage``,
``event`` and those that stand in the sentence.
"""

import logging
import re
from dataclasses import dataclass
from logging import DEBUG, INFO, WARNING
from typing import Any

STAGES = (
    "append", "index", "notify", "advance", "claim", "fetch", "handle", "ack", "complete", "sweep", "worker", "topics",
)  # fmt: skip
LOGGERS = {stage: logging.getLogger(f"ccc_django.{stage}") for stage in STAGES}


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that can be said, and how loud."""

    stage: str
    event: str
    level: int
    sentence: str

    @property
    def is_heard(self) -> bool:
        """Whether anybody wants to know."""
        return LOGGERS[self.stage].isEnabledFor(self.level)

    def __call__(self, *, exc_info: bool = False, **fields: Any) -> None:
        """Say it."""
        if self.is_heard:
            extra = {"stage": self.stage, "event": self.event, **fields}
            given = [fields] if fields else []
            LOGGERS[self.stage].log(self.level, self.sentence, *given, exc_info=exc_info, extra=extra, stacklevel=2)


appended = Line("append", "appended", DEBUG, "%(count)d messages were appended, up to %(position)d: %(types)s")
scheduled = Line("append", "scheduled", DEBUG, "%(count)d messages wait until %(due_at)s: %(types)s")
promoted = Line("append", "promoted", DEBUG, "%(count)d messages whose time has come were appended.")
conflicted = Line("append", "conflicted", DEBUG, "Nothing was appended, because of %(types)s at %(positions)s.")

indexed = Line("index", "indexed", DEBUG, "%(index)s has entries up to %(position)d.")

notified = Line("notify", "notified", DEBUG, "Listeners were called: %(types)s")
not_notified = Line(
    "notify", "not_notified", WARNING, "Listeners were not notified; they will find the messages when they look."
)
cannot_listen = Line("notify", "cannot_listen", WARNING, "Cannot listen (%(error)s): looking now and then.")
stopped_listening = Line(
    "notify",
    "stopped_listening",
    WARNING,
    "Nobody calls any more (%(error)s): looking now and then, and listening again later.",
)

subscribed = Line("topics", "subscribed", INFO, "%(group)s has subscribed to %(scope)s: %(mode)s, from %(position)d.")
revived = Line("topics", "revived", INFO, "%(group)s goes on with %(scope)s where it stood.")
steered = Line("topics", "steered", INFO, "%(group)s, %(scope)s: was %(was)s, is %(status)s.")
buried = Line("topics", "buried", WARNING, "%(subscription)s has sent no heartbeat for its time-out: it is dead.")
removed = Line("topics", "removed", INFO, "%(group)s does not get %(scope)s any more.")
forced = Line("topics", "forced", WARNING, "%(topic)s is complete by force up to %(position)d: %(count)d passed over.")
backfill_cancelled = Line(
    "topics",
    "backfill_cancelled",
    INFO,
    "%(group)s does not get what was in %(topic)s before it came, from %(position)d on: %(count)d passed over.",
)
pruned = Line("topics", "pruned", INFO, "%(topic)s: %(count)d messages were pruned, up to %(position)d.")
lost_messages = Line(
    "topics",
    "lost_messages",
    WARNING,
    "%(group)s goes on with %(topic)s, and does not get what was pruned meanwhile, between %(first)d and %(last)d.",
)
topic_deleted = Line("topics", "topic_deleted", INFO, "The topic %(topic)s was deleted; its messages stay.")

advanced = Line("advance", "advanced", DEBUG, "%(group)s advanced up to %(position)d.")
claimed = Line("claim", "claimed", DEBUG, "%(worker)s has %(partition)s of %(group)s, attempt %(attempt)d.")
fetched = Line("fetch", "fetched", DEBUG, "%(count)d messages of %(partition)s of %(group)s, up to %(position)d.")

handled = Line("handle", "handled", DEBUG, "%(group)s handled %(count)d messages of %(partition)s.")
failed = Line(
    "handle",
    "failed",
    WARNING,
    "%(group)s: %(message_type)s at %(position)s failed (attempt %(attempt)d of %(most)s): %(error)s",
)
put_off = Line(
    "handle",
    "put_off",
    WARNING,
    "%(group)s: %(message_type)s at %(position)s is put off, and nobody is to blame (%(times)d in a row): %(error)s",
)
lost = Line("handle", "lost", WARNING, "%(group)s lost %(partition)s while it was handled: somebody else has it.")
takes_long = Line(
    "handle",
    "takes_long",
    WARNING,
    "%(group)s: a handler runs for more than %(limit)s, at %(message_type)s of %(partition)s:\n%(place)s",
)
not_given_back = Line(
    "handle", "not_given_back", WARNING, "%(group)s could not give %(partition)s back: its lease will be over."
)

acked = Line("ack", "acked", DEBUG, "%(partition)s of %(group)s is done up to %(position)d.")
released = Line("ack", "released", DEBUG, "%(partition)s of %(group)s was given back: %(error)s")
gave_up = Line(
    "ack", "gave_up", WARNING, "%(group)s gave %(message_type)s at %(position)d of %(partition)s up: %(error)s"
)
not_acked = Line(
    "ack", "not_acked", WARNING, "%(group)s: %(partition)s is done, and could not be acked so far: %(error)s"
)
not_renewed = Line(
    "ack", "not_renewed", WARNING, "%(group)s: the lease was not renewed, and will be tried again: %(error)s"
)

completed = Line("complete", "completed", DEBUG, "%(group)s committed what follows from %(count)d messages.")

swept = Line("sweep", "swept", DEBUG, "Swept; the next sweep is due in %(seconds).2g s.")
sweep_failed = Line("sweep", "failed", WARNING, "A sweep failed, and is repeated: %(error)s")
worker_gone = Line(
    "sweep", "worker_gone", WARNING, "%(worker)s is gone without a word; what it had in hand is done by others."
)

started = Line("worker", "started", INFO, "%(worker)s consumes %(groups)s.")
progressed = Line(
    "worker",
    "progressed",
    INFO,
    "%(group)s: %(handled)d handled, %(rate).1f/s, lag %(lag)d, in flight %(in_flight)d, failures %(failures)d",
)
not_shown = Line("worker", "not_shown", DEBUG, "How the groups are doing could not be shown: %(error)s")
troubled = Line("worker", "troubled", WARNING, "%(group)s: %(error)s; trying again in %(seconds).2g s.")
unwell = Line("worker", "unwell", WARNING, "%(worker)s: %(error)s")
not_beaten = Line("worker", "not_beaten", WARNING, "%(worker)s could not beat: %(error)s")
no_goodbye = Line(
    "worker", "no_goodbye", WARNING, "%(worker)s could not say goodbye: its row will be removed by a sweep."
)
stopping = Line(
    "worker",
    "stopping",
    INFO,
    "%(signal)s: finishing what is in hand, for %(seconds)g s at most. Once more stops at once.",
)
stopped_at_once = Line(
    "worker",
    "stopped_at_once",
    WARNING,
    "%(signal)s again: stopped at once. What was in hand is done again when its lease is over.",
)
overdue = Line(
    "worker", "overdue", WARNING, "It did not finish in time: what is in hand is done again when its lease is over."
)
died = Line("worker", "died", WARNING, "Process %(pid)d has died (%(code)d): starting another in %(seconds)g s.")
changed = Line("worker", "changed", INFO, "%(path)s has changed: starting over.")
unsound = Line(
    "worker",
    "unsound",
    WARNING,
    "The code has changed and cannot be run; the worker goes on as it was.\n%(output)s",
)


def line_of(error: BaseException) -> str:
    """An error in one line: its name, and the first thing that it says."""
    return f"{type(error).__name__}: {first_line(text_of(error))}"


def text_of(error: BaseException) -> str:
    """What an error says; some fail even at that."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - code of the project
        return "(it cannot say what it is)"


def first_line(text: str | None) -> str:
    """The first paragraph of a text, in one line."""
    return re.sub(r"\s+", " ", (text or "").strip().partition("\n\n")[0])
