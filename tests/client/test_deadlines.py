"""Requests that wait too long."""

from __future__ import annotations

from vaultbridge.client.websocket.inbox import LATE_IDS, Deadlines


def test_a_request_is_due_its_seconds_after_it_was_sent() -> None:
    deadlines = Deadlines(5.0)
    deadlines.add(1, 100.0)
    deadlines.add(2, 101.0)
    assert deadlines.next_due({1, 2}) == 105.0
    assert deadlines.take_due(104.9) == []
    assert deadlines.take_due(105.0) == [1]
    assert deadlines.next_due({2}) == 106.0


def test_answered_requests_are_passed_over() -> None:
    deadlines = Deadlines(5.0)
    deadlines.add(1, 100.0)
    deadlines.add(2, 101.0)
    assert deadlines.next_due({2}) == 106.0
    assert deadlines.next_due(set()) is None


def test_an_id_that_is_used_again_has_the_time_of_its_new_request() -> None:
    deadlines = Deadlines(5.0)
    deadlines.add(1, 100.0)
    deadlines.add(1, 104.0)
    assert deadlines.next_due({1}) == 109.0
    again = Deadlines(5.0)
    again.add(1, 100.0)
    again.add(1, 104.0)
    assert again.take_due(105.0) == [] and again.take_due(109.0) == [1]


def test_without_a_timeout_nothing_is_ever_due() -> None:
    deadlines = Deadlines(None)
    deadlines.add(1, 100.0)
    assert deadlines.next_due({1}) is None


def test_a_late_answer_is_recognised_once() -> None:
    deadlines = Deadlines(5.0)
    deadlines.give_up(1)
    assert deadlines.was_given_up(1)
    assert not deadlines.was_given_up(1)


def test_only_so_many_late_ids_are_remembered() -> None:
    deadlines = Deadlines(5.0)
    for n in range(LATE_IDS + 1):
        deadlines.give_up(n)
    assert not deadlines.was_given_up(0)
    assert deadlines.was_given_up(LATE_IDS)
