"""The delays of the seed's "Reconnection Behavior", without a clock."""

from __future__ import annotations

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.client.settings import LONGEST_DELAY, make_backoff_delays


def test_the_first_attempt_is_immediate_and_each_further_delay_doubles() -> None:
    """Seed: immediate, then reconnectDelay * 2^0, * 2^1, * 2^2."""
    assert list(make_backoff_delays(4, 1.0)) == [0.0, 1.0, 2.0, 4.0]
    assert list(make_backoff_delays(5, 0.5)) == [0.0, 0.5, 1.0, 2.0, 4.0]


def test_there_are_as_many_delays_as_attempts() -> None:
    assert list(make_backoff_delays(0, 1.0)) == []
    assert list(make_backoff_delays(1, 1.0)) == [0.0]
    assert len(list(make_backoff_delays(30, 1.0))) == 30


def test_a_delay_never_passes_the_longest_even_after_thousands_of_attempts() -> None:
    assert max(make_backoff_delays(5000, 1.0)) == LONGEST_DELAY
    assert max(make_backoff_delays(10, 1.0, longest=3.0)) == 3.0


@given(st.floats(0, 1), st.floats(0, 0.999), st.floats(0.001, 10))
def test_jitter_spreads_a_delay_evenly_around_itself(jitter: float, drawn: float, base: float) -> None:
    plain = list(make_backoff_delays(6, base, longest=100))
    spread = list(make_backoff_delays(6, base, longest=100, jitter=jitter, random=lambda: drawn))
    assert spread[0] == 0.0, "the immediate attempt stays immediate"
    for without, with_jitter in zip(plain, spread, strict=True):
        assert without * (1 - jitter / 2) <= with_jitter <= without * (1 + jitter / 2)


def test_without_jitter_the_random_source_does_not_matter() -> None:
    assert list(islice(make_backoff_delays(3, 1.0, random=lambda: 0.9), 3)) == [0.0, 1.0, 2.0]
