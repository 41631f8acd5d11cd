from __future__ import annotations

import pytest

from support.bases import make_context
from vaultbridge.bases.context import STEPS_PER_VALUE, STEPS_PER_VIEW
from vaultbridge.bases.regex_compile import compile_regex
from vaultbridge.bases.values import FormulaError, LinkValue
from vaultbridge.errors import TimedOut


def test_each_value_has_its_own_allowance() -> None:
    context = make_context()
    context.charge(STEPS_PER_VALUE)
    with pytest.raises(FormulaError, match="too many steps"):
        context.charge(1)
    context.begin_value()
    context.charge(STEPS_PER_VALUE)


def test_the_view_has_an_allowance_too_and_ends_with_it() -> None:
    context = make_context()
    with pytest.raises(TimedOut, match="over all files"):
        for _ in range(STEPS_PER_VIEW // STEPS_PER_VALUE + 1):
            context.begin_value()
            context.charge(STEPS_PER_VALUE)


def test_walking_a_value_costs_by_its_size() -> None:
    context = make_context()
    context.charge_walk(5.0)
    context.charge_walk((1.0,) * (STEPS_PER_VALUE - 1))
    with pytest.raises(FormulaError):
        context.charge_walk("x" * 6_400)


def test_a_failed_search_is_charged_too() -> None:
    context = make_context()
    regex, text = compile_regex("[ab]*c"), "ab" * 4_000
    assert context.search(regex, text) is None
    with pytest.raises(FormulaError):
        for _ in range(9):
            context.search(regex, text)


def test_a_link_leads_where_the_resolver_says_without_its_subpath() -> None:
    context = make_context()
    assert context.find_linked_path(LinkValue("Dune#Part 1", "Index.md")) == "Books/Dune.md"
    assert context.find_linked_path(LinkValue("Nobody")) is None
    assert context.find_linked_path(LinkValue("https://e.org", external=True)) is None
