"""The state a client carries: only what we signed, for this call, in time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.jsonrpc.messages import RpcError
from vaultbridge.protocols.mcp.context import STATE_BYTES, STATE_SECONDS, RoundState, StateSigner

NOW = 1_000_000.0
CARRIED = RoundState({"name": {"action": "accept", "content": {"name": "Ada"}}}, {"round": 1})
PARAMS = {"name": "tool", "arguments": {"a": 1, "b": [2]}}


def make_signer(now: float = NOW, key: bytes = b"k" * 32) -> StateSigner:
    return StateSigner(lambda: now, key)


def test_a_signed_state_is_verified() -> None:
    text = make_signer().sign(CARRIED, "tools/call", PARAMS, "ada")
    retry = {
        "arguments": {"b": [2], "a": 1},
        "name": "tool",
        "requestState": text,
        "inputResponses": {},
        "_meta": {},
    }
    assert make_signer(NOW + STATE_SECONDS).verify(text, "tools/call", retry, "ada") == CARRIED


@pytest.mark.parametrize(
    ("method", "params", "principal", "later", "key"),
    [
        ("prompts/get", PARAMS, "ada", 0, b"k" * 32),
        ("tools/call", {**PARAMS, "name": "other"}, "ada", 0, b"k" * 32),
        ("tools/call", {**PARAMS, "arguments": {}}, "ada", 0, b"k" * 32),
        ("tools/call", PARAMS, "eve", 0, b"k" * 32),
        ("tools/call", PARAMS, "ada", STATE_SECONDS + 1, b"k" * 32),
        ("tools/call", PARAMS, "ada", 0, b"x" * 32),
    ],
)
def test_another_call_principal_time_or_process_is_refused(
    method: str, params: dict[str, object], principal: str, later: float, key: bytes
) -> None:
    text = make_signer().sign(CARRIED, "tools/call", PARAMS, "ada")
    with pytest.raises(RpcError) as caught:
        make_signer(NOW + later, key).verify(text, method, params, principal)
    assert caught.value.error.code == -32602


@given(st.data())
def test_no_altered_state_is_ever_accepted(data: st.DataObject) -> None:
    text = make_signer().sign(CARRIED, "tools/call", PARAMS, "ada")
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters())
    altered = text[:place] + other + text[place + 1 :]
    if altered != text:
        with pytest.raises(RpcError):
            make_signer().verify(altered, "tools/call", PARAMS, "ada")


@given(st.text() | st.none() | st.integers() | st.binary())
def test_nothing_made_up_is_accepted(text: object) -> None:
    with pytest.raises(RpcError):
        make_signer().verify(text, "tools/call", PARAMS, "ada")


def test_a_huge_state_is_refused_before_it_is_decoded() -> None:
    with pytest.raises(RpcError, match="too long"):
        make_signer().verify("A" * (STATE_BYTES + 1), "tools/call", PARAMS, "ada")


def test_every_process_has_its_own_key() -> None:
    text = StateSigner(lambda: NOW).sign(CARRIED, "tools/call", PARAMS, "")
    with pytest.raises(RpcError):
        StateSigner(lambda: NOW).verify(text, "tools/call", PARAMS, "")
