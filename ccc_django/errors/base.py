"""Base: what all errors of ours are."""


class CCCError(Exception):
    """Anything that ccc_django raises by itself."""


class DomainError(Exception):
    """A command is rejected for a reason of the domain: raise it, or a class derived from it, in a decider."""


class ExtraMissing(CCCError, ImportError):
    """An optional package is needed and not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f'{package} is not installed. Run: pip install "ccc-django[{extra}]"')
        self.package = package
        self.extra = extra
