"""The `requestState` of 2026-07-28: what a client carries between two rounds of one call.

The client is not trusted with it: the text is signed with a key that lives as long as the process, and
bound to the method, the parameters, the principal and a time of expiry (Multi Round-Trip Requests, Server
Requirements). It is not encrypted: nothing secret may be put in. What signing needs is imported when the
first state is signed, because few servers ever ask and every one has to start.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

import msgspec

from vaultbridge.rpc.messages import INVALID_PARAMS, Params, Refused

STATE_SECONDS: Final = 3600.0
"""How long a round may take. A person may leave a form open over lunch; a stolen state should not live a
day."""

STATE_BYTES: Final = 256 * 1024
"""The most that is decoded: answers of earlier rounds travel in it, and a form's answers are small."""

_MAC_BYTES: Final = 16
_VARYING: Final = frozenset({"_meta", "inputResponses", "requestState"})


class Carried(msgspec.Struct, frozen=True):
    """What travels: the answers so far, and the provider's own state."""

    answers: dict[str, Any] = {}
    state: dict[str, Any] = {}


class _Sealed(msgspec.Struct, frozen=True, array_like=True):
    expires: float
    bound: str
    carried: Carried


class StateSeal:
    """Signs and checks. `clock` gives seconds since any fixed point."""

    def __init__(self, clock: Callable[[], float], key: bytes | None = None) -> None:
        self._clock = clock
        self._key = key or os.urandom(32)

    def seal(self, carried: Carried, method: str, params: Params, principal: str) -> str:
        import base64

        payload = msgspec.json.encode(
            _Sealed(self._clock() + STATE_SECONDS, _binding(method, params, principal), carried)
        )
        return base64.urlsafe_b64encode(self._mac(payload) + payload).decode()

    def open(self, text: object, method: str, params: Params, principal: str) -> Carried:
        """Raises InvalidArgument for anything that we did not sign for exactly this call, or that is too
        old."""
        import base64
        import binascii

        if not isinstance(text, str):
            raise _refused("is not a string")
        if len(text) > STATE_BYTES:
            raise _refused("is too long")
        try:
            raw = base64.b64decode(text.encode("ascii"), altchars=b"-_", validate=True)
        except (binascii.Error, UnicodeEncodeError):
            raise _refused("is not one of ours") from None
        mac, payload = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
        if not _same(mac, self._mac(payload)):
            raise _refused("has been altered or is from an earlier run of the server")
        sealed = msgspec.json.decode(payload, type=_Sealed)
        if sealed.expires < self._clock():
            raise _refused("has expired")
        if sealed.bound != _binding(method, params, principal):
            raise _refused("belongs to another call")
        return sealed.carried

    def _mac(self, payload: bytes) -> bytes:
        from hashlib import blake2b

        return blake2b(payload, key=self._key, digest_size=_MAC_BYTES).digest()


def _binding(method: str, params: Params, principal: str) -> str:
    from hashlib import blake2b

    salient = {name: value for name, value in params.items() if name not in _VARYING}
    text = msgspec.json.encode([method, principal, salient], order="deterministic")
    return blake2b(text, digest_size=16).hexdigest()


def _same(one: bytes, other: bytes) -> bool:
    """Compare without telling by the time taken how much was right."""
    from hmac import compare_digest

    return compare_digest(one, other)


def _refused(what: str) -> Refused:
    """A protocol error, not a failed tool: the model has no part in it."""
    text = f"Invalid params: requestState {what}; call again without it"
    return Refused(INVALID_PARAMS, text, {"argument": "requestState"})
