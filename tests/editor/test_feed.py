"""What one client is sent and when, on a clock that the test moves."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.editor.feed import (
    DEBOUNCE_LIMIT_SECONDS,
    DEBOUNCE_SECONDS,
    NO_FOCUS,
    READY_SECONDS,
    ClientFeed,
    FeedEvent,
)
from vaultbridge.editor.model import TOP_OF_NOTE, Focus, Mention, Point, Selection
from vaultbridge.vault.paths import vault_path

A = Focus(vault_path("A.md"), TOP_OF_NOTE, "page")
B = Focus(vault_path("B.md"), Selection(Point(1, 0), Point(1, 4), "text"), "page")


def make_ready_feed() -> ClientFeed:
    feed = ClientFeed(debounce=0.15, debounce_limit=0.3, ready_after=0.6)
    feed.client_ready(0.0)
    assert feed.take_due(1.0) == ()
    return feed


def test_the_default_times_are_those_the_real_client_needs() -> None:
    assert 0.1 <= DEBOUNCE_SECONDS <= DEBOUNCE_LIMIT_SECONDS <= 0.3
    assert 0.5 <= READY_SECONDS <= 1.0


def test_nothing_is_sent_before_the_client_is_ready() -> None:
    feed = ClientFeed(debounce=0.15, debounce_limit=0.3, ready_after=0.6)
    feed.focus_changed(A, 0.0)
    feed.mention(Mention(A.path))
    assert feed.wake_at is None
    assert feed.take_due(100.0) == ()
    feed.client_ready(100.0)
    assert feed.wake_at == 100.6
    assert feed.take_due(100.5) == ()
    assert feed.take_due(100.6) == (A, Mention(A.path))


def test_a_second_announcement_restarts_the_wait() -> None:
    """`initialized` comes first and `ide_connected` after it: the latter counts."""
    feed = ClientFeed(debounce=0.1, debounce_limit=0.3, ready_after=0.6)
    feed.focus_changed(A, 0.0)
    feed.client_ready(0.0)
    feed.client_ready(0.5)
    assert feed.take_due(0.7) == ()
    assert feed.take_due(1.1) == (A,)


def test_a_change_is_sent_once_after_the_debounce() -> None:
    feed = make_ready_feed()
    feed.focus_changed(A, 10.0)
    assert feed.wake_at == 10.15
    assert feed.take_due(10.1) == ()
    assert feed.take_due(10.15) == (A,)
    assert feed.wake_at is None
    assert feed.take_due(20.0) == ()


def test_further_changes_delay_it_but_not_beyond_the_limit() -> None:
    feed = make_ready_feed()
    for step, focus in ((10.0, A), (10.1, B), (10.2, A), (10.28, B)):
        feed.focus_changed(focus, step)
        assert feed.take_due(step) == ()
    assert feed.wake_at == 10.3
    assert feed.take_due(10.3) == (B,)


def test_a_change_that_is_undone_is_not_sent() -> None:
    feed = make_ready_feed()
    feed.focus_changed(A, 10.0)
    assert feed.take_due(10.2) == (A,)
    feed.focus_changed(B, 11.0)
    feed.focus_changed(A, 11.1)
    assert feed.wake_at is None
    assert feed.take_due(12.0) == ()


def test_the_same_position_from_another_source_is_not_a_change() -> None:
    feed = make_ready_feed()
    feed.focus_changed(A, 10.0)
    feed.take_due(10.2)
    feed.focus_changed(Focus(A.path, A.selection, "workspace"), 11.0)
    assert feed.wake_at is None


def test_closing_the_file_clears_once() -> None:
    feed = make_ready_feed()
    feed.focus_changed(A, 10.0)
    feed.take_due(10.2)
    feed.focus_changed(None, 11.0)
    assert feed.take_due(11.2) == (NO_FOCUS,)
    feed.focus_changed(None, 12.0)
    assert feed.take_due(12.2) == ()


def test_a_selection_that_was_never_sent_is_not_cleared() -> None:
    feed = make_ready_feed()
    feed.focus_changed(None, 10.0)
    assert feed.wake_at is None


def test_after_every_prompt_the_selection_is_sent_again() -> None:
    feed = make_ready_feed()
    feed.focus_changed(A, 10.0)
    feed.take_due(10.2)
    feed.prompt_submitted(20.0)
    assert feed.wake_at == 20.15
    assert feed.take_due(20.15) == (A,)


def test_after_a_prompt_without_a_focus_nothing_is_sent() -> None:
    feed = make_ready_feed()
    feed.prompt_submitted(20.0)
    assert feed.wake_at is None


def test_mentions_do_not_wait_for_the_debounce_and_keep_their_order() -> None:
    feed = make_ready_feed()
    feed.focus_changed(A, 10.0)
    first, second = Mention(A.path), Mention(B.path, 2, 4)
    feed.mention(first)
    feed.mention(second)
    assert feed.take_due(10.0) == (first, second)
    assert feed.take_due(10.15) == (A,)


@given(st.lists(st.tuples(st.sampled_from([A, B, None]), st.floats(0.001, 1.0)), max_size=20))
def test_in_the_end_the_client_knows_where_the_person_is(changes: list[tuple[Focus | None, float]]) -> None:
    """Whatever was left out in between, the last event is the truth."""
    feed = make_ready_feed()
    now = 10.0
    events: list[FeedEvent] = [NO_FOCUS]
    for focus, wait in changes:
        feed.focus_changed(focus, now)
        now += wait
        events.extend(feed.take_due(now))
    events.extend(feed.take_due(now + 1.0))
    last = changes[-1][0] if changes else None
    assert events[-1] == (last or NO_FOCUS)
    assert all(event != following for event, following in pairwise(events))
