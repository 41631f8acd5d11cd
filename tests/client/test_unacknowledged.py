"""What is in left when a line is lost."""

from __future__ import annotations

from vaultbridge.client.messages import MessageKind
from vaultbridge.client.websocket import unacknowledged as module
from vaultbridge.client.websocket.queue import QueuedMessage
from vaultbridge.client.websocket.unacknowledged import Unacknowledged


def request(n: int) -> QueuedMessage:
    return QueuedMessage(MessageKind.REQUEST, n, "m", b"{}")


def make_notification(data: bytes = b"{}") -> QueuedMessage:
    return QueuedMessage(MessageKind.NOTIFICATION, None, "m", data)


def test_an_answer_closes_its_request_once() -> None:
    sent = Unacknowledged()
    sent.record(request(1), 5.0)
    found, _ = sent.answer(1)
    assert found is not None and found.at == 5.0
    assert sent.answer(1) == (None, ())


def test_an_answer_proves_that_everything_before_its_request_arrived_and_nothing_after() -> None:
    sent = Unacknowledged()
    before, after = make_notification(b"1"), make_notification(b"2")
    sent.record(before, 0)
    sent.record(request(1), 0)
    sent.record(after, 0)
    assert sent.answer(1)[1] == (before,)
    assert sent.drop().others == (after,)


def test_a_pong_proves_what_was_sent_before_the_ping() -> None:
    sent = Unacknowledged()
    first, second = make_notification(b"1"), make_notification(b"2")
    sent.record(first, 0)
    sequence = sent.sequence
    sent.record(second, 0)
    assert sent.confirm(sequence) == (first,)
    assert sent.drop().others == (second,)


def test_dropping_returns_requests_and_others_and_forgets_them() -> None:
    sent = Unacknowledged()
    items = [request(1), make_notification(), request(2)]
    for item in items:
        sent.record(item, 0)
    left = sent.drop()
    assert left.requests == (items[0], items[2])
    assert left.others == (items[1],)
    assert sent.drop() == module.NOTHING_UNCONFIRMED


def test_messages_beyond_the_limit_are_counted_and_not_lost_silently() -> None:
    sent = Unacknowledged()
    for n in range(module.UNCONFIRMED_MESSAGES + 5):
        sent.record(make_notification(b"%d" % n), 0)
    left = sent.drop()
    assert len(left.others) == module.UNCONFIRMED_MESSAGES
    assert left.forgotten == 5
    assert left.others[0].data == b"5"


def test_the_kept_messages_are_bounded_by_bytes_too() -> None:
    sent = Unacknowledged()
    big = b"x" * (module.UNCONFIRMED_BYTES // 2)
    for _ in range(3):
        sent.record(make_notification(big), 0)
    left = sent.drop()
    assert len(left.others) == 2 and left.forgotten == 1


def test_a_confirmation_clears_the_count_of_older_ones_too() -> None:
    sent = Unacknowledged()
    for _ in range(module.UNCONFIRMED_MESSAGES + 5):
        sent.record(make_notification(), 0)
    sent.confirm(sent.sequence)
    assert sent.drop() == module.NOTHING_UNCONFIRMED


def test_a_ping_is_wanted_once_after_every_so_many_messages() -> None:
    sent = Unacknowledged()
    wanted = 0
    for _ in range(module.CONFIRM_EVERY * 3):
        sent.record(make_notification(), 0)
        wanted += sent.wants_ping()
    assert wanted == 3
    sent.record(request(1), 0)
    assert not sent.wants_ping(), "a request confirms by itself"


def test_cancelled_requests_are_not_awaited_and_only_the_newest_are_kept() -> None:
    sent = Unacknowledged()
    for n in range(module.CANCELLED + 2):
        sent.record(request(n), 0)
        sent.cancel(n)
    sent.cancel(-1)  # never sent
    sent.record(request(-2), 0)
    assert (sent.awaited, len(sent.open)) == (1, module.CANCELLED + 1)
    assert sent.answer(0) == (None, ())
    assert sent.answer(2)[0] is not None and sent.awaited == 1
    assert len(sent.drop().requests) == module.CANCELLED
    assert (sent.awaited, len(sent.open)) == (0, 0)
