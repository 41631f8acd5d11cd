"""Parameters of MCP requests, read strictly: a wrong one is refused with its name, what came and what is
wanted. Only an empty array is taken for an empty object, because PHP and others write it so."""

from __future__ import annotations

from typing import Any

from vaultbridge.jsonrpc.messages import INVALID_PARAMS, Params, Refused


def text(params: Params, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise wrong(name, value, "a string")
    return value


def optional_text(params: Params, name: str) -> str:
    """ "" when it is not there."""
    value = params.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise wrong(name, value, "a string")
    return value


def mapping(params: Params, name: str, *, required: bool = False) -> dict[str, Any]:
    value = params.get(name)
    if value is None and not required:
        return {}
    if value == []:
        return {}
    if not isinstance(value, dict):
        raise wrong(name, value, "an object")
    return value


def texts(params: Params, name: str) -> dict[str, str]:
    """An object whose values are all strings; empty when it is not there. Null stands for a value that was
    left out."""
    value = {key: member for key, member in mapping(params, name).items() if member is not None}
    for key, member in value.items():
        if not isinstance(member, str):
            raise wrong(f"{name}.{key}", member, "a string")
    return value


def wrong(name: str, value: object, wanted: str) -> Refused:
    came = "nothing" if value is None else _kind(value)
    return Refused(
        INVALID_PARAMS, f"Invalid params: {name} must be {wanted}, but {came} came", {"argument": name}
    )


def _kind(value: object) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "an array"}
    return names.get(type(value), "an object")
