"""Counts calls and how long they took, by method, tool and client, and minute by minute for the last hour."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from vaultbridge.activity.records import CallRecord

BUCKETS_MS: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0)
"""The upper limits of the histogram's columns: three for each power of ten, from the fastest read to a
search that a person waits for."""

ROWS: Final = 60
"""Methods, tools or clients that are listed."""

COUNTED: Final = 1_000
"""Combinations of method, tool and client that are counted one by one: a client may invent any number of
names. Anything later counts as `OTHERS`."""

OTHERS: Final = "(others)"

MINUTES: Final = 60


class CallStats:
    """The number and duration of the calls of one method, tool or client."""

    __slots__ = ("calls", "counts", "failed", "longest", "name", "total")

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls = 0
        self.failed = 0
        self.total = 0.0
        self.longest = 0.0
        self.counts = [0] * (len(BUCKETS_MS) + 1)

    def merge(self, other: CallStats) -> None:
        self.calls += other.calls
        self.failed += other.failed
        self.total += other.total
        self.longest = max(self.longest, other.longest)
        self.counts = [count + more for count, more in zip(self.counts, other.counts, strict=True)]

    def quantile(self, share: float) -> float:
        """The upper limit of the column in which this share of the calls is reached; in the last column, the
        duration of the longest call."""
        target, seen = share * self.calls, 0
        for limit, count in zip(BUCKETS_MS, self.counts, strict=False):
            seen += count
            if seen >= target:
                return min(limit, self.longest)
        return self.longest

    def render(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "calls": self.calls,
            "failed": self.failed,
            "mean": round(self.total / self.calls, 3) if self.calls else 0.0,
            "p50": round(self.quantile(0.5), 3),
            "p95": round(self.quantile(0.95), 3),
            "max": round(self.longest, 3),
            "counts": self.counts,
        }


class Counters:
    """Every call is added to two rows; the rows are added up only when somebody asks."""

    def __init__(self) -> None:
        self.bytes_in = 0
        self.bytes_out = 0
        self._rows: dict[tuple[str, str, str], CallStats] = {}
        self._minutes: dict[int, CallStats] = {}

    def count(self, record: CallRecord) -> None:
        ms, failed = record.work_seconds * 1000, record.is_failed
        self.bytes_in += record.bytes_in
        self.bytes_out += record.bytes_out
        key = (record.method, record.tool, record.client.id)
        row = self._rows.get(key)
        if row is None:
            row = self._add_row(key)
        row.calls += 1
        row.failed += failed
        row.total += ms
        if ms > row.longest:
            row.longest = ms
        row.counts[bisect_left(BUCKETS_MS, ms)] += 1
        minute = int(record.at) // 60
        row = self._minutes.get(minute)
        if row is None:
            row = self._add_minute(minute)
        row.calls += 1
        row.failed += failed
        row.total += ms

    def _add_row(self, key: tuple[str, str, str]) -> CallStats:
        if len(self._rows) >= COUNTED:
            key = (OTHERS, OTHERS, OTHERS)
        return self._rows.setdefault(key, CallStats(""))

    def _add_minute(self, minute: int) -> CallStats:
        # The clock may have been set forward or back: minutes far away in either direction are dropped.
        self._minutes = {other: row for other, row in self._minutes.items() if abs(other - minute) < MINUTES}
        return self._minutes.setdefault(minute, CallStats(""))

    @property
    def total(self) -> CallStats:
        (row,) = self._sum(lambda key: "all") or [CallStats("all")]
        return row

    @property
    def methods(self) -> list[CallStats]:
        return self._sum(lambda key: key[0])

    @property
    def tools(self) -> list[CallStats]:
        return self._sum(lambda key: key[1])

    @property
    def clients(self) -> list[CallStats]:
        return self._sum(lambda key: key[2])

    def _sum(self, name_of: Callable[[tuple[str, str, str]], str]) -> list[CallStats]:
        """The rows added up by name, those with most calls first."""
        sums: dict[str, CallStats] = {}
        for key, row in self._rows.items():
            if name := name_of(key):
                sums.setdefault(name, CallStats(name)).merge(row)
        return sorted(sums.values(), key=lambda row: -row.calls)[:ROWS]

    def render_minutes(self, now: float | None = None) -> dict[str, Any]:
        last = int(time.time() if now is None else now) // 60
        rows = [self._minutes.get(minute) for minute in range(last - MINUTES + 1, last + 1)]
        return {
            "start": (last - MINUTES + 1) * 60,
            "calls": [0 if row is None else row.calls for row in rows],
            "failed": [0 if row is None else row.failed for row in rows],
            "ms": [0.0 if row is None else round(row.total / row.calls, 3) for row in rows],
        }
