"""A call as a provider sees it: it reports progress, logs, and asks the client questions, in every version.

Implements `provider.Context`. In versions with a session a question is a request to the client. In 2026-07-28
it is an "input required" result, raised here as `InputRequired` and turned into a result by the dialect; the
client then repeats the call with the answers and with the `requestState` it was given.

The client is not trusted with that state. It is signed with a key that lives as long as the process, and
bound to the method, the parameters, the principal and an expiry time (Multi Round-Trip Requests, Server
Requirements). It is not encrypted, so it must contain no secret. The modules for signing are imported with
the first signature, because few servers ask questions and all of them have to start.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, get_args

import msgspec

from vaultbridge.errors import EngineFailure
from vaultbridge.jsonrpc.messages import INVALID_PARAMS, MISSING_CLIENT_CAPABILITY, Params, RpcError
from vaultbridge.protocols.dialect import Call
from vaultbridge.protocols.mcp import apps as mcp_apps
from vaultbridge.protocols.mcp.values import InputRequest, LoggingLevel
from vaultbridge.protocols.mcp.versions import Version

STATE_SECONDS: Final = 3600.0
"""How long a round may take. A person may leave a form open for a while, but a stolen state should not be
valid for a day."""

STATE_BYTES: Final = 256 * 1024
"""The longest state that is decoded: it contains the answers of earlier rounds, and the answers to forms are
small."""

_MAC_BYTES: Final = 16
_VARYING: Final = frozenset({"_meta", "inputResponses", "requestState"})


class RoundState(msgspec.Struct, frozen=True):
    """What is in a state: the answers so far, and the provider's own state."""

    answers: dict[str, Any] = {}
    state: dict[str, Any] = {}


class _SignedState(msgspec.Struct, frozen=True, array_like=True):
    expires: float
    bound: str
    state: RoundState


class StateSigner:
    """Signs and verifies states. `clock` returns seconds since any fixed point."""

    def __init__(self, clock: Callable[[], float], key: bytes | None = None) -> None:
        self._clock = clock
        self._key = key or os.urandom(32)

    def sign(self, state: RoundState, method: str, params: Params, principal: str) -> str:
        import base64

        payload = msgspec.json.encode(
            _SignedState(self._clock() + STATE_SECONDS, _bind(method, params, principal), state)
        )
        return base64.urlsafe_b64encode(self._mac(payload) + payload).decode()

    def verify(self, text: object, method: str, params: Params, principal: str) -> RoundState:
        """Raises RpcError for anything that we did not sign for exactly this call, or that has expired."""
        import base64
        import binascii

        if not isinstance(text, str):
            raise _make_invalid_state("is not a string")
        if len(text) > STATE_BYTES:
            raise _make_invalid_state("is too long")
        try:
            raw = base64.b64decode(text.encode("ascii"), altchars=b"-_", validate=True)
        except (binascii.Error, UnicodeEncodeError):
            raise _make_invalid_state("was not issued by this server") from None
        mac, payload = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
        if not _are_same(mac, self._mac(payload)):
            raise _make_invalid_state("was altered, or was issued before the server restarted")
        signed = msgspec.json.decode(payload, type=_SignedState)
        if signed.expires < self._clock():
            raise _make_invalid_state("has expired")
        if signed.bound != _bind(method, params, principal):
            raise _make_invalid_state("belongs to a different call")
        return signed.state

    def _mac(self, payload: bytes) -> bytes:
        from hashlib import blake2b

        return blake2b(payload, key=self._key, digest_size=_MAC_BYTES).digest()


def _bind(method: str, params: Params, principal: str) -> str:
    from hashlib import blake2b

    salient = {name: value for name, value in params.items() if name not in _VARYING}
    text = msgspec.json.encode([method, principal, salient], order="deterministic")
    return blake2b(text, digest_size=16).hexdigest()


def _are_same(first: bytes, second: bytes) -> bool:
    """Compare in constant time."""
    from hmac import compare_digest

    return compare_digest(first, second)


def _make_invalid_state(reason: str) -> RpcError:
    """A protocol error and not a failed tool: the model cannot correct it."""
    text = f"Invalid params: requestState {reason}; call again without it"
    return RpcError(INVALID_PARAMS, text, {"argument": "requestState"})


LOG_LEVELS: Final[tuple[str, ...]] = get_args(LoggingLevel)
"""Least severe first."""

Capability = Literal["elicitation", "sampling", "roots"]

_CAPABILITY_OF: Final[dict[str, Capability]] = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}


class InputRequired(BaseException):
    """Ends a provider's run so that the client can be asked. A BaseException, so that no `except Exception`
    stops it."""

    def __init__(self, requests: dict[str, InputRequest], state: str) -> None:
        super().__init__("the client has to be asked")
        self.requests = requests
        self.state = state

    def render(self) -> dict[str, Any]:
        form: dict[str, Any] = {
            "resultType": "input_required",
            "inputRequests": {
                key: {"method": request.method, "params": request.params}
                for key, request in self.requests.items()
            },
        }
        if self.state:
            form["requestState"] = self.state
        return form


class Client:
    """What the client has declared, in the handshake or, in 2026-07-28, in the request."""

    __slots__ = ("_shows_views", "capabilities", "info", "log_level", "name", "version")

    def __init__(
        self, version: Version, capabilities: dict[str, Any], name: str, log_level: str | None
    ) -> None:
        self.version = version
        self.capabilities = capabilities
        self.name = name
        self.info: object = None
        """The `clientInfo` of the handshake."""
        self.log_level = log_level
        """The least severe level that the client wants; None for no messages at all."""
        self._shows_views: bool | None = None

    @property
    def shows_views(self) -> bool:
        # Cached, because every call of a tool reads it several times.
        if self._shows_views is None:
            self._shows_views = mcp_apps.can_show(self.capabilities)
        return self._shows_views


class McpContext:
    def __init__(self, call: Call, client: Client, signer: StateSigner) -> None:
        self._call = call
        self._client = client
        self._signer = signer
        self._round = RoundState()
        if client.version.modern:
            self._round = self._collect_answers(call.params)

    @property
    def client_name(self) -> str:
        return self._client.name

    @property
    def principal(self) -> str:
        return self._call.peer.principal

    @property
    def state(self) -> dict[str, Any]:
        return self._round.state

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        text = message if self._client.version.progress_message else None
        self._call.peer.progress(self._call.id, done, total, text)

    def log(self, level: LoggingLevel, data: Any, logger: str = "") -> None:
        threshold = self._client.log_level
        if threshold is None or LOG_LEVELS.index(level) < LOG_LEVELS.index(threshold):
            return
        params: Params = {"level": level, "data": data}
        if logger:
            params["logger"] = logger
        self._call.notify("notifications/message", params)

    @property
    def shows_views(self) -> bool:
        return self._client.shows_views

    def supports(self, capability: Capability) -> bool:
        if capability == "elicitation" and not self._client.version.elicitation:
            return False
        declared = self._client.capabilities.get(capability)
        if capability == "elicitation" and isinstance(declared, dict) and declared:
            # 2025-11-25: {} means forms; {"url": {}} alone means no forms.
            return "form" in declared
        return isinstance(declared, dict)

    def wait_for_person(self, seconds: float) -> float:
        self._call.lift_time_limit()
        return seconds

    async def ask(
        self, requests: Mapping[str, InputRequest], *, state: dict[str, Any] | None = None
    ) -> dict[str, dict[str, Any]]:
        modern = self._client.version.modern
        known = self._round.answers
        missing = {key: request for key, request in requests.items() if not (modern and key in known)}
        for request in missing.values():
            self._require(_CAPABILITY_OF[request.method])
        if modern:
            if missing:
                raise InputRequired(missing, self._sign_state(state))
            return {key: known[key] for key in requests}
        return {key: await self._send_request(request) for key, request in requests.items()}

    def release_stream(self) -> None:
        self._call.peer.release_stream(self._call.id)

    async def _send_request(self, request: InputRequest) -> dict[str, Any]:
        answer = await self._call.ask(request.method, request.params)
        if not isinstance(answer, dict):
            raise EngineFailure(f"The client answered {request.method} with something that is not an object.")
        return answer

    def _require(self, capability: Capability) -> None:
        if self.supports(capability):
            return
        message = f"The client cannot be asked: it declares no {capability} capability."
        if self._client.version.modern:
            raise RpcError(MISSING_CLIENT_CAPABILITY, message, {"requiredCapabilities": {capability: {}}})
        raise EngineFailure(message)

    def _collect_answers(self, params: Params) -> RoundState:
        """The answers of this round, added to those of earlier rounds."""
        before = RoundState()
        if (text := params.get("requestState")) is not None:
            before = self._signer.verify(text, self._call.method, params, self.principal)
        responses = params.get("inputResponses")
        if responses is None:
            return before
        if not isinstance(responses, dict) or not all(
            isinstance(answer, dict) for answer in responses.values()
        ):
            message = "Invalid params: inputResponses must be an object with the client's result for each key"
            raise RpcError(INVALID_PARAMS, message, {"argument": "inputResponses"})
        return RoundState(before.answers | responses, before.state)

    def _sign_state(self, state: dict[str, Any] | None) -> str:
        next_round = RoundState(self._round.answers, self._round.state if state is None else state)
        if not next_round.answers and not next_round.state:
            return ""
        return self._signer.sign(next_round, self._call.method, self._call.params, self.principal)
