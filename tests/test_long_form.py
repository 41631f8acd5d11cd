"""What the ordinary tests try of many cases (`support/long_form.py`)."""

from __future__ import annotations

from support.long_form import combine, mark_long_after


def test_all_combinations_are_tried_and_each_value_in_an_ordinary_one() -> None:
    cases = combine(["a", "b", "c"], {"one": 1, "two": 2})
    assert {case.id: case.values for case in cases} == {
        f"{letter}-{word}": (letter, number)
        for letter in ("a", "b", "c")
        for word, number in (("one", 1), ("two", 2))
    }
    assert [case.id for case in cases if not case.marks] == ["a-one", "b-two", "c-one"]


def test_all_cases_after_the_first_are_long() -> None:
    first, second, third = mark_long_after(1, ["a", "b", ("c", "d")])
    assert first == "a"
    assert [(case.values, [mark.name for mark in case.marks]) for case in (second, third)] == [
        (("b",), ["long"]),
        (("c", "d"), ["long"]),
    ]
