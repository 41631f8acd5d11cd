from __future__ import annotations

import pytest

from support.bases import evaluate
from vaultbridge.bases.methods import numbers_in
from vaultbridge.bases.values import Duration, FormulaError, Value


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("[1,2,3].length", 3.0),
        ("[].isEmpty()", True),
        ("[1,[2,[3,[]]]].flat()", (1.0, 2.0, 3.0)),
        ("[1,null,'a'].join()", "1,,a"),
        ("[1,2].join(' - ')", "1 - 2"),
        ("[1,2,3].slice(-2)", (2.0, 3.0)),
        ("[1,2,3].slice(0, 99999999999)", (1.0, 2.0, 3.0)),
        ("['b', null, 'A', 10, 9].sort()", (9.0, 10.0, "A", "b", None)),
        ("[link('Dune'), link('Index'), link('Dune')].unique().length", 2.0),
        ("['a', 'A', 'a', 1, '1'].unique()", ("a", "A", 1.0, "1")),
        ("[[1], [1], 2].unique()", ((1.0,), 2.0)),
        ("[1, 2, 'x', null].mean()", 1.5),
        ("[].mean()", None),
        ("[1,2].contains('1')", True),
        ("file.tags.contains('book')", True),
        ("file.tags.contains('#book')", True),
        ("['book'].contains('#book')", False),
        ("file.tags.containsAny('none', 'book')", True),
        ("[1,2].containsAll(1, 3)", False),
        ("{a: 1, b: 2}.keys()", ("a", "b")),
        ("{a: 1, b: 2}.values()", (1.0, 2.0)),
        ("{a: 1}.isEmpty()", False),
        ("[5,6].map(index)", (0.0, 1.0)),
        ("[5,6].filter(index > 0)", (6.0,)),
        ("[1,2,3].reduce(acc + value)", None),
        ("['a','b'].reduce(acc + index + value, '')", "0a1b"),
        ("[[1,2],[3]].map(value.map(value * 10))", ((10.0, 20.0), (30.0,))),
        ("[[1,2],[3]].map(value.reduce(acc + value, index))", (3.0, 4.0)),
        ("[].map(value)", ()),
        ("[].reduce(acc, 7)", 7.0),
    ],
)
def test_list_and_object_functions(source: str, expected: Value) -> None:
    assert evaluate(source) == expected


def test_numbers_are_picked_out_of_anything() -> None:
    assert numbers_in((1.0, True, None, "2", Duration(0, 5.0))) == [1.0, 5.0]


@pytest.mark.parametrize(
    "source",
    [
        "'ab'.repeat(50).split('').reduce([acc, acc], 1)",
        "'ab'.repeat(50).split('').reduce([acc], 1)",
        "'ab'.repeat(50).split('').reduce(acc + acc, 'x')",
        "'ab'.repeat(50).split('').reduce(acc + acc, [1])",
        "'a'.repeat(400).split('').map('a'.repeat(400).split('').map(1))",
        "'a'.repeat(400).split('').map(['x'.repeat(9999)]).join('')",
    ],
)
def test_a_list_cannot_be_made_to_grow_without_bound(source: str) -> None:
    with pytest.raises(FormulaError):
        evaluate(source)
