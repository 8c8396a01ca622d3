"""Report: the figures of a measurement, and what they say about what limits it."""

from dataclasses import dataclass

JOURNEY, COMMIT, APPEND = "empty journey", "bare commit", "append"
BUSY = 0.8  # of a processor: Python runs on one at a time
SENTENCES = {
    "processor": "The processor of this process limits appends: it is busy {share:.0%} of the time. More processes "
    "append more, and several messages in one append cost less.",
    "disk": "The disk limits appends: a commit waits {part:.2f} ms of the {whole:.2f} ms of an append. Several "
    "messages in one append, or in one transaction, share a commit.",
    "journey": "The journey to the database limits appends: it takes {part:.2f} ms of the {whole:.2f} ms of an append. "
    "More clients append more, and several messages in one append share a journey.",
    "database": "The database limits appends: it takes {part:.2f} ms of the {whole:.2f} ms of an append, besides "
    "commit and journey. Look at its processors, and at what else it does.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """How often something was done, and how long it took; times are seconds, ``processor`` is this process's share."""

    name: str
    calls: int
    messages: int
    seconds: float
    p50: float
    p99: float
    processor: float

    @property
    def calls_per_second(self) -> float:
        """How often it was done in a second, by all clients."""
        return self.calls / self.seconds if self.seconds else 0.0

    @property
    def messages_per_second(self) -> float:
        """How many messages that were."""
        return self.messages / self.seconds if self.seconds else 0.0

    @property
    def working(self) -> float:
        """The seconds that this process worked for a call."""
        return min(self.processor * self.seconds / self.calls, self.p50) if self.calls else 0.0

    @property
    def waiting(self) -> float:
        """The seconds that a call waited for something else."""
        return self.p50 - self.working


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was measured, and how; ``removed`` messages are gone again, but their positions stay used."""

    database: str
    clients: int
    seconds: float
    figures: tuple[Figure, ...]
    limit: str
    removed: int


def limit_of(figures: tuple[Figure, ...]) -> str:
    """What limits appends, in a sentence, and what would help."""
    by_name = {figure.name: figure for figure in figures}
    append, commit, journey = by_name[APPEND], by_name[COMMIT], by_name[JOURNEY]
    waits = {"journey": min(journey.waiting, append.waiting)}
    waits["disk"] = min(max(commit.waiting - journey.waiting, 0.0), append.waiting - waits["journey"])
    waits["database"] = append.waiting - waits["journey"] - waits["disk"]
    longest = max(waits, key=lambda name: waits[name])
    if append.processor >= BUSY or append.working > waits[longest]:
        return SENTENCES["processor"].format(share=min(append.processor, 1.0))
    return SENTENCES[longest].format(part=waits[longest] * 1000, whole=append.p50 * 1000)
