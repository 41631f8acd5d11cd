"""The values of a diagnosis: what was looked at, how it stands, and what to do about it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Standing = Literal["good", "warning", "bad", "unknown"]


class Check(Struct, frozen=True):
    """`advice` is empty when nothing has to be done."""

    name: str
    standing: Standing
    found: str
    advice: str = ""
