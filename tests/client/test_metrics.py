"""Counters, their snapshot and their Prometheus form."""

from __future__ import annotations

import re

from vaultbridge.client.metrics import LATENCY_BUCKETS, Metrics, render_prometheus


def take_snapshot(metrics: Metrics, **values: object) -> object:
    fields = {"queue_messages": 0, "queue_bytes": 0, "in_flight": 0, "state": "connected", **values}
    return metrics.snapshot(**fields)  # type: ignore[arg-type]


def test_a_snapshot_holds_what_was_counted_and_does_not_change_afterwards() -> None:
    metrics = Metrics()
    metrics.messages_sent += 3
    metrics.count_error("connection-lost")
    taken = take_snapshot(metrics, queue_messages=2)
    metrics.messages_sent += 1
    metrics.count_error("connection-lost")
    assert taken.messages_sent == 3 and taken.errors == {"connection-lost": 1} and taken.queue_messages == 2


def test_the_error_rate_is_errors_for_each_message() -> None:
    metrics = Metrics()
    assert take_snapshot(metrics).error_rate == 0.0
    metrics.messages_sent, metrics.messages_received = 6, 4
    metrics.count_error("a")
    metrics.count_error("b")
    assert take_snapshot(metrics).error_rate == 0.2


def test_latency_has_count_mean_extremes_and_cumulative_buckets() -> None:
    metrics = Metrics()
    assert metrics.make_latency().count == 0 and metrics.make_latency().mean == 0.0
    for seconds in (0.001, 0.004, 0.2, 99.0):
        metrics.count_answer(seconds)
    latency = metrics.make_latency()
    assert latency.count == 4 and latency.shortest == 0.001 and latency.longest == 99.0
    assert abs(latency.mean - 99.205 / 4) < 1e-9
    expected = tuple(sum(s <= bound for s in (0.001, 0.004, 0.2, 99.0)) for bound in LATENCY_BUCKETS)
    assert latency.buckets == expected


def test_the_prometheus_text_is_well_formed_and_complete() -> None:
    metrics = Metrics()
    metrics.messages_sent, metrics.bytes_received, metrics.reconnects = 2, 50, 1
    metrics.count_error("connection-lost")
    metrics.count_answer(0.002)
    text = render_prometheus(take_snapshot(metrics, queue_messages=7))
    assert text.endswith("\n")
    sample = re.compile(r"[a-z_]+(\{[a-z]+=\"[^\"]*\"\})? [0-9.e+-]+")
    declared = set()
    for line in text.splitlines():
        if line.startswith("# TYPE"):
            declared.add(line.split()[2])
        elif not line.startswith("#"):
            assert sample.fullmatch(line), line
            name = re.sub(r"_(bucket|sum|count)$", "", re.split(r"[ {]", line)[0])
            assert name in declared, f"{name} has no TYPE"
    for line in (
        'vaultbridge_client_messages_total{direction="sent"} 2',
        'vaultbridge_client_bytes_total{direction="received"} 50',
        'vaultbridge_client_errors_total{reason="connection-lost"} 1',
        "vaultbridge_client_reconnects_total 1",
        "vaultbridge_client_queue_messages 7",
        "vaultbridge_client_connected 1",
        'vaultbridge_client_request_seconds_bucket{le="+Inf"} 1',
        "vaultbridge_client_request_seconds_count 1",
    ):
        assert line in text.splitlines()
