"""What is in doubt when a line is lost."""

from __future__ import annotations

from vaultbridge.client.messages import Kind
from vaultbridge.client.websocket import unacknowledged as module
from vaultbridge.client.websocket.queue import QueuedMessage
from vaultbridge.client.websocket.unacknowledged import Unacknowledged


def request(n: int) -> QueuedMessage:
    return QueuedMessage(Kind.REQUEST, n, "m", b"{}")


def notification(data: bytes = b"{}") -> QueuedMessage:
    return QueuedMessage(Kind.NOTIFICATION, None, "m", data)


def test_an_answer_closes_its_request_once() -> None:
    books = Unacknowledged()
    books.hand(request(1), 5.0)
    found, _ = books.answer(1)
    assert found is not None and found.at == 5.0
    assert books.answer(1) == (None, ())


def test_an_answer_proves_that_everything_before_its_request_arrived_and_nothing_after() -> None:
    books = Unacknowledged()
    before, after = notification(b"1"), notification(b"2")
    books.hand(before, 0)
    books.hand(request(1), 0)
    books.hand(after, 0)
    assert books.answer(1)[1] == (before,)
    assert books.drop().others == (after,)


def test_a_pong_proves_what_was_sent_before_the_ping() -> None:
    books = Unacknowledged()
    first, second = notification(b"1"), notification(b"2")
    books.hand(first, 0)
    place = books.place
    books.hand(second, 0)
    assert books.confirm(place) == (first,)
    assert books.drop().others == (second,)


def test_dropping_tells_requests_and_others_and_empties_the_books() -> None:
    books = Unacknowledged()
    items = [request(1), notification(), request(2)]
    for item in items:
        books.hand(item, 0)
    doubt = books.drop()
    assert doubt.requests == (items[0], items[2])
    assert doubt.others == (items[1],)
    assert books.drop() == module.NOTHING_IN_DOUBT


def test_beyond_what_is_kept_messages_are_counted_not_forgotten_silently() -> None:
    books = Unacknowledged()
    for n in range(module.UNCONFIRMED_MESSAGES + 5):
        books.hand(notification(b"%d" % n), 0)
    doubt = books.drop()
    assert len(doubt.others) == module.UNCONFIRMED_MESSAGES
    assert doubt.forgotten == 5
    assert doubt.others[0].data == b"5"


def test_the_kept_messages_are_bounded_by_bytes_too() -> None:
    books = Unacknowledged()
    big = b"x" * (module.UNCONFIRMED_BYTES // 2)
    for _ in range(3):
        books.hand(notification(big), 0)
    doubt = books.drop()
    assert len(doubt.others) == 2 and doubt.forgotten == 1


def test_a_confirmation_clears_the_count_of_older_ones_too() -> None:
    books = Unacknowledged()
    for _ in range(module.UNCONFIRMED_MESSAGES + 5):
        books.hand(notification(), 0)
    books.confirm(books.place)
    assert books.drop() == module.NOTHING_IN_DOUBT


def test_a_ping_is_wanted_once_after_every_so_many_messages() -> None:
    books = Unacknowledged()
    wanted = 0
    for _ in range(module.CONFIRM_EVERY * 3):
        books.hand(notification(), 0)
        wanted += books.wants_ping()
    assert wanted == 3
    books.hand(request(1), 0)
    assert not books.wants_ping(), "a request confirms by itself"


def test_cancelled_requests_are_not_awaited_and_only_the_newest_are_kept() -> None:
    books = Unacknowledged()
    for n in range(module.CANCELLED + 2):
        books.hand(request(n), 0)
        books.cancel(n)
    books.cancel(-1)  # never sent
    books.hand(request(-2), 0)
    assert (books.awaited, len(books.open)) == (1, module.CANCELLED + 1)
    assert books.answer(0) == (None, ())
    assert books.answer(2)[0] is not None and books.awaited == 1
    assert len(books.drop().requests) == module.CANCELLED
    assert (books.awaited, len(books.open)) == (0, 0)
