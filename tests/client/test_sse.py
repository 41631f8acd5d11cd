"""Server-sent events, whole and cut anywhere."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.client.errors import InvalidMessage
from vaultbridge.client.http.wire import EventReader, ServerSentEvent

STREAM = (
    b": a comment\r\n\r\nid: 1\nretry: 250\ndata:\n\n"
    b'event: message\ndata: {"a":\ndata: 1}\nid: 2\n\n'
    b"event: other\rdata:no space\r\rdata: \xc3\xa4\n\nid: 9\n\ndata: unfinished"
)
EVENTS = [
    ServerSentEvent("message", "", "1"),
    ServerSentEvent("message", '{"a":\n1}', "2"),
    ServerSentEvent("other", "no space", "2"),
    ServerSentEvent("message", "ä", "2"),
]


def test_events_are_read_with_their_names_data_and_ids() -> None:
    reader = EventReader(10_000)
    assert reader.feed(STREAM) == EVENTS
    assert reader.last_id == "9" and reader.retry == 250


@pytest.mark.parametrize("digits", ["²", "٣", "9" * 5000, "-1", "1.5"])
def test_a_retry_that_is_no_number_of_milliseconds_is_ignored(digits: str) -> None:
    reader = EventReader(10_000)
    reader.feed(f"retry: {digits}\ndata: x\n\n".encode())
    assert reader.retry is None


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_a_stream_cut_anywhere_gives_the_same_events(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    reader = EventReader(10_000)
    found = []
    for start, end in itertools.pairwise(places):
        found += reader.feed(STREAM[start:end])
    assert found == EVENTS


def test_byte_by_byte_gives_the_same_events() -> None:
    reader = EventReader(10_000)
    assert [event for n in range(len(STREAM)) for event in reader.feed(STREAM[n : n + 1])] == EVENTS


def test_an_event_above_the_limit_is_refused_with_or_without_line_ends() -> None:
    with pytest.raises(InvalidMessage, match="limit of 100"):
        EventReader(100).feed(b"data: " + b"x" * 200)
    reader = EventReader(100)
    with pytest.raises(InvalidMessage, match="limit of 100"):
        for _ in range(20):
            reader.feed(b"data: 0123456789\n")
