"""Reads the parameters of MCP requests strictly. The error for a wrong one names it, its type and the
expected type. An empty array is accepted as an empty object, because PHP and others write it that way."""

from __future__ import annotations

from typing import Any

from vaultbridge.jsonrpc.messages import INVALID_PARAMS, Params, RpcError


def read_string(params: Params, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise invalid_param(name, value, "a string")
    return value


def read_optional_string(params: Params, name: str) -> str:
    """Return a string, or "" if it is missing."""
    value = params.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise invalid_param(name, value, "a string")
    return value


def read_object(params: Params, name: str, *, required: bool = False) -> dict[str, Any]:
    value = params.get(name)
    if value is None and not required:
        return {}
    if value == []:
        return {}
    if not isinstance(value, dict):
        raise invalid_param(name, value, "an object")
    return value


def read_strings(params: Params, name: str) -> dict[str, str]:
    """Return an object whose values are all strings; empty if it is missing. A null value counts as
    missing."""
    value = {key: member for key, member in read_object(params, name).items() if member is not None}
    for key, member in value.items():
        if not isinstance(member, str):
            raise invalid_param(f"{name}.{key}", member, "a string")
    return value


def invalid_param(name: str, value: object, wanted: str) -> RpcError:
    given = "nothing" if value is None else _kind(value)
    return RpcError(
        INVALID_PARAMS, f"Invalid params: {name} must be {wanted}, not {given}", {"argument": name}
    )


def _kind(value: object) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "an array"}
    return names.get(type(value), "an object")
