"""What all routes of the page's API share: who may call them, how they read a request, how they answer.

    api = PageApi(app, guard=guard, authorize=access.authorize_page)
    api.get("/graph", show_graph)                       # /page/api/graph

    async def show_graph(call: PageCall) -> Any:
        depth = call.number("depth", 1, least=1, most=5)
        return await call.on_vault(lambda engine: make_graph(engine, depth))

A handler gets a `PageCall` and returns a value that becomes JSON, or a complete response. It raises the
errors of `errors.py`; here they become a status and an object `error`. A token is always required, even from
this machine: an assistant that uses MCP without one must not be able to resume itself.

`grant.engines` are limited to what the caller's token shows, so a handler that uses only these cannot reveal
more. `owner=True` on a route admits only the bridge's own token.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from aiohttp import web
from msgspec.structs import replace

from vaultbridge.cancellation import make_cancellable
from vaultbridge.errors import (
    JSON_ERRORS,
    AmbiguousName,
    EditRefused,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    TimedOut,
    VaultbridgeError,
    VaultNotFound,
    describe_json_error,
    explain_validation_error,
)
from vaultbridge.limits import MIB
from vaultbridge.protocols.http.guard import HostGuard, find_host
from vaultbridge.protocols.http.request import (
    BodyRefused,
    close_if_body_unread,
    defer_continue,
    has_disconnected,
    read_body,
    while_connected,
)
from vaultbridge.review.gate import NonInteractiveCaller, ReviewGate
from vaultbridge.review.policy import ChangePending, ReviewRules
from vaultbridge.web.page import BASE, HEADERS

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.protocols.mcp.server import McpServer

PREFIX: Final = f"{BASE}/api"

BODY_BYTES: Final = 16 * MIB
"""The longest body: a note that is saved, which may be as large as one that a tool writes."""

BODY_SECONDS: Final = 30.0
"""How long a body may take to arrive: enough for the largest one over a slow line."""

NUMBER_DIGITS: Final = 15
"""The most digits of a number in a query: a double represents that many exactly."""

log = logging.getLogger("vaultbridge.page")

T = TypeVar("T")


class PageGrant(msgspec.Struct, frozen=True):
    """What a caller may use. `principal` identifies the token; `owner` means that it is the bridge's own.
    `review` says which of the caller's changes wait for a person; it is None for the owner, who is that
    person."""

    server: McpServer
    engines: Mapping[str, Engine]
    principal: str
    owner: bool
    review: Callable[[Engine], ReviewRules] | None = None


class ApiFailure(Exception):
    """A refusal that is not one of the vault's errors: it has its own status and code."""

    def __init__(self, status: int, code: str, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.hint = hint


STATUS: Final[tuple[tuple[type[VaultbridgeError], int], ...]] = (
    (InvalidArgument, 400),
    (PermissionDenied, 403),
    (NotFound, 404),
    (VaultNotFound, 404),
    (AmbiguousName, 409),
    (EditRefused, 409),
    (TimedOut, 503),
)
"""The status of each kind of error; any other is 500."""


class PageCall:
    """One request. Methods that read it raise InvalidArgument, which names the argument."""

    def __init__(self, request: web.Request, grant: PageGrant) -> None:
        self.request = request
        self.grant = grant

    def text(self, name: str, default: str = "") -> str:
        """An argument of the query."""
        return self.request.query.get(name, default)

    def part(self, name: str) -> str:
        """A part of the path, decoded."""
        return self.request.match_info[name]

    def number(self, name: str, default: int, *, least: int = 0, most: int = 2**53) -> int:
        text = self.text(name)
        if not text:
            return default
        is_number = text.isascii() and text.isdigit() and len(text) <= NUMBER_DIGITS
        if not is_number or not least <= int(text) <= most:
            raise InvalidArgument(
                f"{name} is {text[:40]!r}.",
                argument=name,
                hint=f"It is a whole number from {least} to {most}.",
            )
        return int(text)

    def time(self, name: str) -> float | None:
        """Seconds since the epoch; None if it is not given."""
        text = self.text(name)
        if not text:
            return None
        try:
            seconds = float(text)
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds < 1e12:
            raise InvalidArgument(f"{name} is {text[:40]!r}.", argument=name, hint="Seconds since 1970.")
        return seconds

    def flag(self, name: str) -> bool:
        text = self.text(name)
        if text not in ("", "0", "1", "false", "true"):
            raise InvalidArgument(f"{name} is {text[:40]!r}.", argument=name, hint="It is 1 or 0.")
        return text in ("1", "true")

    async def body(self, kind: type[T]) -> T:
        """The body as a Struct, which should forbid unknown fields: a mistyped member must not be
        ignored."""
        data = await read_body(self.request, limit=BODY_BYTES, seconds=BODY_SECONDS)
        try:
            return msgspec.json.decode(data or b"{}", type=kind)
        except msgspec.ValidationError as error:
            raise explain_validation_error(error) from None
        except JSON_ERRORS as error:
            raise InvalidArgument(f"The body is not JSON: {describe_json_error(error)}.") from None

    @property
    def vault(self) -> str:
        """The name of the vault that the query names; without one, the first. Raises VaultNotFound."""
        name = self.text("vault")
        names = tuple(self.grant.engines)
        if name and name not in names:
            raise VaultNotFound(f"No vault named {name!r} is open.", hint=f"Open vaults: {', '.join(names)}.")
        return name or names[0]

    @property
    def is_abandoned(self) -> bool:
        """Whether the caller has closed the connection, as a browser does with a request that it gives up."""
        return has_disconnected(self.request)

    async def on_vault(self, work: Callable[[Engine], T]) -> T:
        """Run `work`, which changes nothing, with the engine of this call's vault, in a thread: engines
        block. It is cancelled when the caller closes the connection, and raises TimedOut then."""
        name = self.vault
        context = copy_context()
        cancellation = make_cancellable(context)
        loop = asyncio.get_running_loop()
        with while_connected(self.request, cancellation.request):
            try:
                return await loop.run_in_executor(
                    None, context.run, lambda: work(self.grant.engines[name].for_reading)
                )
            except asyncio.CancelledError:
                # The server is ending.
                cancellation.request()
                raise

    async def change_vault(self, work: Callable[[Engine], T]) -> T:
        """Like `on_vault`, for work that changes something, which is never cancelled. Assistants have tokens
        too, so changes made with a token wait for a person as they would through a tool; then this raises
        ApiFailure."""
        name = self.vault
        review = self.grant.review
        if review is None:
            return await asyncio.to_thread(lambda: work(self.grant.engines[name]))

        def find_rules(engine: Engine) -> ReviewRules:
            # The page is answered at once that the change waits.
            return replace(review(engine), wait_seconds=0.0)

        def change(engine: Engine) -> T:
            caller = NonInteractiveCaller(longest=0.0)
            gate = ReviewGate(find_rules, "page", caller, _ignore)
            try:
                return work(engine.with_gate(gate))
            except ChangePending as pending:
                raise ApiFailure(
                    409,
                    "PENDING",
                    f"Nothing is changed yet: {pending.facts['id']} is waiting for a person to accept it.",
                    hint="The vault's owner can review it on the page.",
                ) from None

        return await asyncio.to_thread(lambda: change(self.grant.engines[name]))


def _ignore(done: float, total: float | None, message: str) -> None:
    """Nobody follows the progress of a request."""


AuthorizePage = Callable[[web.Request], Awaitable[PageGrant]]
ApiHandler = Callable[[PageCall], Awaitable[Any]]


class PageApi:
    def __init__(self, app: web.Application, *, guard: HostGuard, authorize: AuthorizePage) -> None:
        self._app = app
        self._guard = guard
        self._authorize = authorize
        self._methods: dict[str, dict[str, tuple[ApiHandler, bool]]] = {}
        app.router.add_route("*", f"{PREFIX}/{{rest:.*}}", self._wrap(_no_such_address, owner=False))

    def get(self, path: str, handler: ApiHandler, *, owner: bool = False) -> None:
        self._add("GET", path, handler, owner=owner)

    def post(self, path: str, handler: ApiHandler, *, owner: bool = False) -> None:
        self._add("POST", path, handler, owner=owner)

    def put(self, path: str, handler: ApiHandler, *, owner: bool = False) -> None:
        self._add("PUT", path, handler, owner=owner)

    def delete(self, path: str, handler: ApiHandler, *, owner: bool = False) -> None:
        self._add("DELETE", path, handler, owner=owner)

    def _add(self, method: str, path: str, handler: ApiHandler, *, owner: bool) -> None:
        known = self._methods.setdefault(path, {})
        if not known:
            self._app.router.add_route(
                "*", PREFIX + path, self._dispatch(known), expect_handler=defer_continue
            )
        known[method] = handler, owner

    def _dispatch(self, known: Mapping[str, tuple[ApiHandler, bool]]) -> Any:
        async def handle(request: web.Request) -> web.StreamResponse:
            method = "GET" if request.method == "HEAD" else request.method
            if method not in known:
                wanted = ", ".join(sorted(known))
                return await self._wrap(_not_allowed(wanted), owner=False)(request)
            handler, owner = known[method]
            return await self._wrap(handler, owner=owner)(request)

        return handle

    def _wrap(
        self, handler: ApiHandler, *, owner: bool
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            response = await self._answer(request, handler, owner=owner)
            if not response.prepared:
                close_if_body_unread(request, response)
            return response

        return handle

    async def _answer(self, request: web.Request, handler: ApiHandler, *, owner: bool) -> web.StreamResponse:
        """The one place where a failure becomes a response."""
        try:
            refusal = self._guard.find_refusal(find_host(request), request.headers.get("Origin"))
            if refusal is not None:
                raise ApiFailure(403, "FORBIDDEN", refusal)
            grant = await self._authorize(request)
            if owner and not grant.owner:
                raise ApiFailure(
                    403,
                    "OWNER_ONLY",
                    "Only the bridge's own token may do this.",
                    hint="`vaultbridge page` prints the link that has it.",
                )
            # Before an engine is opened: the provider leads the indexes of the engines that open after it.
            await grant.server.provider()
            answer = await handler(PageCall(request, grant))
            return answer if isinstance(answer, web.StreamResponse) else render_json(answer)
        except ApiFailure as failure:
            return _refuse(failure.status, failure.code, str(failure), hint=failure.hint)
        except BodyRefused as body:
            return _refuse(body.status, "BODY_REFUSED", body.why)
        except web.HTTPException as refused:
            return _refuse_as(refused)
        except VaultbridgeError as error:
            return _render_error(error)
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            return _refuse(500, "SERVER_ERROR", "The server failed; its log says why.")


def render_json(value: Any, *, status: int = 200) -> web.Response:
    return web.Response(
        status=status,
        body=msgspec.json.encode(value),
        content_type="application/json",
        headers={**HEADERS, "Cache-Control": "no-store"},
    )


async def _no_such_address(call: PageCall) -> Any:
    raise ApiFailure(404, "NOT_FOUND", "There is nothing at this address.", hint="docs/page.md lists all.")


def _not_allowed(wanted: str) -> ApiHandler:
    async def refuse(call: PageCall) -> web.Response:
        response = _refuse(405, "METHOD_NOT_ALLOWED", f"Use {wanted} here.")
        response.headers["Allow"] = wanted
        return response

    return refuse


def _render_error(error: VaultbridgeError) -> web.Response:
    status = next((status for kind, status in STATUS if isinstance(error, kind)), 500)
    argument = {"argument": error.argument} if isinstance(error, InvalidArgument) and error.argument else {}
    return _refuse(
        status, error.code, error.message, hint=error.hint, reason=error.reason, **argument, **error.details
    )


def _refuse(status: int, code: str, message: str, *, hint: str = "", **more: Any) -> web.Response:
    return render_json({"error": {**more, "code": code, "message": message, "hint": hint}}, status=status)


def _refuse_as(refused: web.HTTPException) -> web.Response:
    """The answer for what `authorize` raised."""
    codes = {401: "UNAUTHORIZED", 403: "FORBIDDEN", 404: "NOT_FOUND"}
    response = _refuse(
        refused.status, codes.get(refused.status, "SERVER_ERROR"), refused.text or refused.reason
    )
    for name in ("WWW-Authenticate", "Retry-After"):
        if name in refused.headers:
            response.headers[name] = refused.headers[name]
    return response
