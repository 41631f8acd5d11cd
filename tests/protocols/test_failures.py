"""Errors into wire form: the codes of seed 004, and nothing of an unknown exception."""

from __future__ import annotations

import pytest

from vaultbridge import errors
from vaultbridge.jsonrpc.messages import ErrorObject, PeerDisconnected, PeerError, RpcError
from vaultbridge.protocols import failures


@pytest.mark.parametrize(
    ("error", "code", "word"),
    [
        (errors.EngineFailure("x"), -32000, "SERVER_ERROR"),
        (errors.EditRefused("x"), -32000, "SERVER_ERROR"),
        (errors.ObsidianNotRunning("x"), -32001, "OBSIDIAN_NOT_RUNNING"),
        (errors.VaultNotFound("x"), -32002, "VAULT_NOT_FOUND"),
        (errors.NoteNotFound("x"), -32003, "FILE_NOT_FOUND"),
        (errors.NotFound("x", what="tool"), -32003, "FILE_NOT_FOUND"),
        (errors.AmbiguousName("x", ("a", "b")), -32004, "AMBIGUOUS_NAME"),
        (errors.PermissionDenied("x"), -32005, "PERMISSION_DENIED"),
        (errors.TimedOut("x"), -32006, "TIMEOUT"),
    ],
)
def test_each_application_error_has_its_code_and_its_word(
    error: errors.VaultbridgeError, code: int, word: str
) -> None:
    """Seed 004, Application Errors."""
    found = failures.to_error(error)
    assert found.code == code
    assert found.data["errorCode"] == word
    assert found.message == str(error)


def test_a_bad_argument_is_invalid_params_and_named() -> None:
    found = failures.to_error(errors.InvalidArgument("must be a number.", argument="count", hint="Give 3."))
    assert found.code == -32602
    assert found.message == "Invalid params: count: must be a number. Give 3."
    assert found.data["argument"] == "count"
    assert found.data["hint"] == "Give 3."


def test_an_argument_that_the_text_names_is_not_named_twice() -> None:
    found = failures.to_error(errors.InvalidArgument("count must be a number.", argument="count"))
    assert found.message == "Invalid params: count must be a number."


def test_details_travel_for_machines() -> None:
    found = failures.to_error(errors.NoteNotFound("Ada", closest=("Ada Lovelace",)))
    assert found.data["details"] == {"name": "Ada", "closest": ["Ada Lovelace"]}
    assert "Did you mean: Ada Lovelace?" in found.message


def test_an_rpc_error_is_sent_exactly() -> None:
    assert failures.to_error(RpcError(-32601, "Method not found: x")) == ErrorObject(
        -32601, "Method not found: x"
    )


def test_an_unknown_exception_leaks_nothing() -> None:
    found = failures.to_error(ZeroDivisionError("/home/ada/secret"))
    assert (found.code, found.message) == (-32603, "Internal error")
    assert "secret" not in repr(found)


def test_a_client_that_failed_or_left_is_a_server_error_that_says_so() -> None:
    assert "-5: no" in failures.to_error(PeerError(ErrorObject(-5, "no"))).message
    assert failures.to_error(PeerDisconnected()).code == -32000


def test_only_bugs_need_a_traceback() -> None:
    assert failures.is_expected(errors.TimedOut("x"))
    assert failures.is_expected(RpcError(-1, "x"))
    assert not failures.is_expected(KeyError("x"))
