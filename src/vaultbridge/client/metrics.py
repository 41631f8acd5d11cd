"""Counts what one transport does, and renders a snapshot as Prometheus text. Pure: the caller passes the
times."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

import msgspec

LATENCY_BUCKETS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)
"""Seconds: from a loopback call to the longest that a tool may take."""


class Latency(msgspec.Struct, frozen=True):
    """How long answers took. `buckets` counts those up to each bound of LATENCY_BUCKETS, cumulatively."""

    count: int = 0
    total: float = 0.0
    shortest: float = 0.0
    longest: float = 0.0
    buckets: tuple[int, ...] = (0,) * len(LATENCY_BUCKETS)

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0


class MetricsSnapshot(msgspec.Struct, frozen=True):
    messages_sent: int
    messages_received: int
    bytes_sent: int
    bytes_received: int
    errors: dict[str, int]
    """By the error's `reason`."""
    connects: int
    reconnects: int
    queue_messages: int
    queue_bytes: int
    in_flight: int
    state: str
    latency: Latency

    @property
    def error_rate(self) -> float:
        """Errors per message sent or received."""
        passed = self.messages_sent + self.messages_received
        return sum(self.errors.values()) / passed if passed else 0.0


class Metrics:
    """The counters, which the transport updates. They are plain numbers, so that counting costs next to
    nothing."""

    __slots__ = (
        "_buckets", "_count", "_longest", "_shortest", "_total", "bytes_received", "bytes_sent",
        "connects", "errors", "messages_received", "messages_sent", "reconnects",
    )  # fmt: skip

    def __init__(self) -> None:
        self.messages_sent = self.messages_received = 0
        self.bytes_sent = self.bytes_received = 0
        self.connects = self.reconnects = 0
        self.errors: dict[str, int] = {}
        self._count = 0
        self._total = self._longest = 0.0
        self._shortest = float("inf")
        self._buckets = [0] * (len(LATENCY_BUCKETS) + 1)

    def count_error(self, reason: str) -> None:
        self.errors[reason] = self.errors.get(reason, 0) + 1

    def count_answer(self, seconds: float) -> None:
        self._count += 1
        self._total += seconds
        self._shortest = min(self._shortest, seconds)
        self._longest = max(self._longest, seconds)
        self._buckets[bisect_left(LATENCY_BUCKETS, seconds)] += 1

    def make_latency(self) -> Latency:
        if not self._count:
            return Latency()
        running, cumulative = 0, []
        for count in self._buckets[:-1]:
            running += count
            cumulative.append(running)
        return Latency(self._count, self._total, self._shortest, self._longest, tuple(cumulative))

    def snapshot(
        self, *, queue_messages: int, queue_bytes: int, in_flight: int, state: str
    ) -> MetricsSnapshot:
        return MetricsSnapshot(
            messages_sent=self.messages_sent,
            messages_received=self.messages_received,
            bytes_sent=self.bytes_sent,
            bytes_received=self.bytes_received,
            errors=dict(self.errors),
            connects=self.connects,
            reconnects=self.reconnects,
            queue_messages=queue_messages,
            queue_bytes=queue_bytes,
            in_flight=in_flight,
            state=state,
            latency=self.make_latency(),
        )


PREFIX: Final = "vaultbridge_client_"


def render_prometheus(snapshot: MetricsSnapshot) -> str:
    """Render the snapshot in Prometheus' text exposition format, version 0.0.4."""
    lines: list[str] = []

    def add_metric(name: str, kind: str, text: str, samples: list[tuple[str, float]]) -> None:
        lines.append(f"# HELP {PREFIX}{name} {text}")
        lines.append(f"# TYPE {PREFIX}{name} {kind}")
        lines.extend(f"{PREFIX}{name}{labels} {_render_number(value)}" for labels, value in samples)

    s = snapshot
    sent, received = '{direction="sent"}', '{direction="received"}'
    counts: list[tuple[str, float]] = [(sent, s.messages_sent), (received, s.messages_received)]
    add_metric("messages_total", "counter", "Messages that passed.", counts)
    counts = [(sent, s.bytes_sent), (received, s.bytes_received)]
    add_metric("bytes_total", "counter", "Bytes of messages that passed.", counts)
    failed: list[tuple[str, float]] = [(f'{{reason="{why}"}}', n) for why, n in sorted(s.errors.items())]
    add_metric("errors_total", "counter", "Errors by reason.", failed)
    add_metric("connects_total", "counter", "Connections opened.", [("", s.connects)])
    add_metric("reconnects_total", "counter", "Connections opened again after a loss.", [("", s.reconnects)])
    add_metric("queue_messages", "gauge", "Messages waiting for a connection.", [("", s.queue_messages)])
    add_metric("queue_bytes", "gauge", "Bytes waiting for a connection.", [("", s.queue_bytes)])
    add_metric("in_flight_requests", "gauge", "Requests without an answer.", [("", s.in_flight)])
    add_metric("connected", "gauge", "1 while connected.", [("", 1 if s.state == "connected" else 0)])
    lines.extend(_render_histogram(s.latency))
    return "\n".join(lines) + "\n"


def _render_histogram(latency: Latency) -> list[str]:
    name = f"{PREFIX}request_seconds"
    rows = [f"# HELP {name} Time from sending a request to its answer.", f"# TYPE {name} histogram"]
    bounds = [*(str(bound) for bound in LATENCY_BUCKETS), "+Inf"]
    for bound, count in zip(bounds, [*latency.buckets, latency.count], strict=True):
        rows.append(f'{name}_bucket{{le="{bound}"}} {count}')
    return [*rows, f"{name}_sum {_render_number(latency.total)}", f"{name}_count {latency.count}"]


def _render_number(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(float(value))
