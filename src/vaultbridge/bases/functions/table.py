"""The table of all functions: which exist, and which a value of each type has."""

from __future__ import annotations

from typing import Final

from vaultbridge.bases.context import Method
from vaultbridge.bases.functions.files import FILE, LINK
from vaultbridge.bases.functions.globals import ANY, GLOBAL
from vaultbridge.bases.functions.values import DATE, LIST, NUMBER, OBJECT, REGEXP, STRING
from vaultbridge.bases.values import TypeName

METHODS: Final[dict[TypeName, dict[str, Method]]] = {
    "string": STRING,
    "number": NUMBER,
    "duration": NUMBER,
    "date": DATE,
    "list": LIST,
    "object": OBJECT,
    "link": LINK,
    "file": FILE,
    "regexp": REGEXP,
}

PER_ELEMENT: Final = {"map": (1, 1), "filter": (1, 1), "reduce": (1, 2)}
"""The list functions that run their first argument once per element, and how many arguments they take."""

IF_ARGUMENTS: Final = (2, 3)
"""`if()` evaluates only the branch it takes, so it is no ordinary function."""

GLOBAL_NAMES: Final = frozenset({*GLOBAL, "if"})
METHOD_NAMES: Final = frozenset({*ANY, *PER_ELEMENT, *(name for table in METHODS.values() for name in table)})


def find_method(type_name: TypeName, name: str) -> Method | None:
    """The function that values of the type have under the name."""
    return METHODS.get(type_name, {}).get(name) or ANY.get(name)
