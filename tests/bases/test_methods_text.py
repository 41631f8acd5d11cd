from __future__ import annotations

import pytest

from support.bases import evaluate
from vaultbridge.bases.values import MAX_TEXT_CHARS, FormulaError, Value


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('"héllo".length', 5.0),
        ('"abc".contains(null)', False),
        ('"a1".contains(1)', True),
        ('"abc".containsAll("a", "x")', False),
        ('"abc".containsAny("y", "x")', False),
        ('"ÀB".lower()', "àb"),
        ('"o\'neil mcDONALD x-ray".title()', "O'neil McDONALD X-ray"),
        ('"abc".slice(-2)', "bc"),
        ('"abc".slice(1, -1)', "b"),
        ('"abc".slice(5)', ""),
        ('"a.b".replace(".", "$1")', "a$1b"),
        ('"abc".replace("", "-")', "-a-b-c-"),
        ('"abab".replace("ab", "x")', "xx"),
        ('"abc".replace(/(?<x>b)/, "[$<x>$&$$$2]")', "a[bb$$2]c"),
        ('"abc".replace(/b/g, "")', "ac"),
        ('"abc".replace(/x*/g, "-")', "-a-b-c-"),
        ('"a1b22".replace(/[0-9]+/g, "#")', "a#b#"),
        ('"ab".replace(/(a)(b)/, "$10")', "a0"),
        ('"aAa".replace(/a/gi, "x")', "xxx"),
        ('"abc".split("")', ("a", "b", "c")),
        ('"".split(",")', ("",)),
        ('"a-b_c".split(/[-_]/)', ("a", "b", "c")),
        ('"a1b".split(/([0-9])/)', ("a", "1", "b")),
        ('"abc".split(/(?:)/)', ("a", "b", "c")),
        ('"a,b".split(",", 0)', ()),
        ('"ab".repeat(0)', ""),
        ("/^d/i.matches(file.name)", True),
        (r"/^\d+$/.matches(15)", True),
        ("/x/.matches('abc')", False),
        ("status.startsWith('read')", True),
    ],
)
def test_text_functions_compute(source: str, expected: Value) -> None:
    assert evaluate(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"x".repeat(-1)',
        f'"x".repeat({MAX_TEXT_CHARS + 1})',
        f'"ab".repeat({MAX_TEXT_CHARS // 2}).replace("a", "xyz")',
        '"abc".repeat(1000).replace(/b/g, "y".repeat(100000))',
        '"x".repeat(200000).split("")',
        '"abc".slice("a")',
        '"a".repeat(40).replace(/(a+)+$b/, "")',
        '/(a+)+$/.matches("a".repeat(40) + "b")',
    ],
)
def test_what_would_grow_or_run_without_bound_is_a_formula_error(source: str) -> None:
    with pytest.raises(FormulaError):
        evaluate(source)
