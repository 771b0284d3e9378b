"""`MatchingService`: what every process that answers `POST /match` has, service or replica."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from matchwood import operators
from matchwood.service.keys import Keys
from matchwood.service.limits import ByteBudget, ByteLimit, RateLimit
from matchwood.service.loading import LoadingProgress
from matchwood.service.metrics import Metrics
from matchwood.service.problems import RequestProblem
from matchwood.service.rules.live_rules import LiveRules
from matchwood.service.settings import Settings, SettingsError

# Seconds after which a client should try again while the service loads.
LOADING_RETRY_SECONDS = 2
# Seconds after which a client should try again while the service closes.
CLOSING_RETRY_SECONDS = 5


class MatchingService(ABC):
    """`open`, `start` (which takes a while), then `close`."""

    def __init__(self, settings: Settings) -> None:
        settings.check_binding()
        self.settings = settings
        self.keys = Keys(settings.keys)
        self.metrics = Metrics(self.figures)
        self.ready = False
        self.loading = LoadingProgress()
        self.closing = asyncio.Event()
        self.request_bytes = ByteLimit(settings.limits.request_bytes)
        # Answers that are made as a whole take none of the room of those that are sent in pieces:
        # who reads the former slowly must not stop deliveries.
        self.answer_budget = ByteBudget(settings.limits.reader_bytes // 2)
        self.reader_budget = ByteBudget(settings.limits.reader_bytes - self.answer_budget.total)
        self.match_rate = RateLimit(settings.limits.matches_per_second, "too-many-matches")
        self.threads = ThreadPoolExecutor(max(2, settings.threads), "work")
        self.bulk_threads = ThreadPoolExecutor(max(1, settings.threads), "bulk")

    @abstractmethod
    def open(self) -> None:
        """Take what only one may have, and report errors in the settings."""

    @abstractmethod
    async def start(self) -> None:
        """Load everything; from then on the service is ready."""

    @abstractmethod
    async def close(self) -> None:
        """Finish what was begun."""

    @property
    @abstractmethod
    def live_rules(self) -> LiveRules:
        """The rules that `POST /match` answers with."""

    @abstractmethod
    def check_event(self, event: Mapping[str, Any]) -> None:
        """Raise an EventError if an event does not fit the schema."""

    @abstractmethod
    def check_rule(self, rule: object) -> None:
        """Raise a RuleError if a rule does not fit the schema."""

    @abstractmethod
    def check_serving(self) -> None:
        """Raise a problem if others should be asked rather than this process."""

    @abstractmethod
    def figures(self) -> dict[str, float]:
        """The current figures, for `/status` and `/metrics`."""

    def bytes_of_requests(self) -> dict[str, float]:
        """How much memory requests and answers take, as part of the figures."""
        return {
            "reader_bytes": self.reader_budget.taken + self.answer_budget.taken,
            "reader_bytes_limit": self.reader_budget.total + self.answer_budget.total,
            "request_bytes": self.request_bytes.taken,
            "request_bytes_limit": self.request_bytes.total,
        }

    def check_ready(self) -> None:
        """Raise a problem unless requests can be answered."""
        if self.closing.is_set():
            detail = "the service is shutting down"
            raise RequestProblem("shutting-down", detail, retry_after=CLOSING_RETRY_SECONDS)
        if not self.ready:
            detail = f"the service is still loading: {self.loading.describe()}"
            raise RequestProblem("not-ready", detail, retry_after=LOADING_RETRY_SECONDS)

    def load_operators(self) -> Any:
        """The operators that the settings name."""
        if not self.settings.operators:
            return None
        try:
            return operators.load(self.settings.operators)
        except (ImportError, ValueError) as error:
            raise SettingsError(str(error)) from error
