"""What a vault shows within a chat (MCP Apps): three views, one of which lets a person decide on a change.

The views show the results of a search, the notes around a note, and a change that waits for a person. They
are built from `web/src/chat` by `make web`.

Only a person may accept or reject a change. The view does so by calling `decide_proposal`, which clients must
not offer to their model, with a code that only the view has: it is in the `_meta` of the result that
announced the change, which clients give to the view but not to the model. So a model that calls the tool
anyway is refused. A code is valid for one proposal, as it was shown, and for one caller. It can be used once,
and expires after CODE_SECONDS or with the process. It does not protect against a client that shows `_meta` to
its model.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.errors import InvalidArgument, PermissionDenied, VaultbridgeError
from vaultbridge.protocols.mcp.apps import VIEW_KEY, Apps, ChatView
from vaultbridge.protocols.mcp.values import TextContent, ToolAnnotations, ToolInfo, ToolResult
from vaultbridge.review.decide import Decider, FileDecision, describe_decision
from vaultbridge.review.gate import parse_id
from vaultbridge.review.model import has_text, hunks_of, texts_of
from vaultbridge.review.policy import WHERE
from vaultbridge.review.store import store_of
from vaultbridge.tools.base.arguments import convert

if TYPE_CHECKING:
    from vaultbridge.engine import DirectEngine, Engine
    from vaultbridge.engine.plan import PlannedFile
    from vaultbridge.protocols.mcp.vault.engines import VaultEngines
    from vaultbridge.review.decide import DecisionResult
    from vaultbridge.review.gate import ReviewGate
    from vaultbridge.review.model import Proposal
    from vaultbridge.review.policy import ReviewRules
    from vaultbridge.tools.base.answer import Answer

CODE_SECONDS: Final = 12 * 3600.0
"""How long a code is valid: a person may return to a conversation in the evening. After that they decide on
the page."""

CODES_KEPT: Final = 400
"""The most codes at once: four for each change that can wait. The oldest go first."""

VIEW_CHARS: Final = 200_000
"""The most text of a change in one answer: some clients refuse answers of a megabyte. A change that does not
fit is decided on the page, because nobody should accept what they have not seen."""

BY: Final = "chat"
"""What the history gives as the place where the person decided."""

_BASE: Final = "ui://vaultbridge/"
RESULTS, GRAPH, REVIEW = f"{_BASE}results", f"{_BASE}graph", f"{_BASE}review"

SHOWN_BY: Final = {
    "obsidian_search": RESULTS,
    "obsidian_context": RESULTS,
    "obsidian_links": GRAPH,
    "obsidian_related": GRAPH,
}

UNDO: Final = "obsidian_undo"
"""Only where this tool is listed, because its owner has not switched it off, does the view offer to undo what
was accepted."""

UNDOING: Final = "undo"
"""What a code is for that lets a person undo an accepted change: instead of the hash of a version shown."""

DECIDING: Final = "decide_proposal"
"""The name under which the configuration switches decisions in chats off (`tools.disable`)."""

DECIDE: Final = ToolInfo(
    name=f"obsidian_{DECIDING}",
    title="Decide on a proposed change",
    description="What the person decided in the view of a change. Needs the code that only the view has",
    input_schema={
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "The proposal, such as p12"},
            "code": {"type": "string", "description": "The code from the view"},
            "action": {"type": "string", "enum": ["accept", "reject", "look", "undo"]},
            "files": {
                "type": "array",
                "items": {"type": "object"},
                "description": "accept: by path, a text of the person's own, or the hunks to take, or skip",
            },
            "reason": {"type": "string"},
        },
        "required": ["id", "code", "action"],
    },
    annotations=ToolAnnotations(destructive_hint=True),
)


def _make_view(uri: str, title: str, description: str) -> ChatView:
    return ChatView(
        uri=uri, title=title, description=description, read=lambda: _read_view(uri.removeprefix(_BASE))
    )


def _read_view(name: str) -> str:
    from importlib.resources import files

    return files("vaultbridge.protocols.mcp.vault").joinpath("views", f"{name}.html").read_text("utf-8")


VIEWS: Final = {
    view.uri: view
    for view in (
        _make_view(RESULTS, "Search results", "The notes and passages that a search found"),
        _make_view(GRAPH, "Around a note", "The notes that are linked with a note, as a graph"),
        _make_view(REVIEW, "Proposed change", "What an assistant would change, for a person to decide"),
    )
}


class _FileChoice(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    path: str
    text: str | None = None
    hunks: tuple[int, ...] | None = None
    skip: bool = False


class _Arguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: str
    action: Literal["accept", "reject", "look", "undo"]
    code: str = ""
    files: tuple[_FileChoice, ...] = ()
    reason: str = ""


class Issued(Struct, frozen=True, kw_only=True):
    """What a code is valid for. `seen` is the hash of the version that was shown, or UNDOING; `whole` is
    whether all of it was shown."""

    engine: DirectEngine
    number: int
    principal: str
    seen: str
    whole: bool
    expires: float
    used: bool = False


class Codes:
    """The codes of one server. May be used from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._issued: OrderedDict[str, Issued] = OrderedDict()

    def issue(self, engine: DirectEngine, number: int, principal: str, *, seen: str, whole: bool) -> str:
        import secrets

        code = secrets.token_urlsafe(24)
        with self._lock:
            self._issued[code] = Issued(
                engine=engine,
                number=number,
                principal=principal,
                seen=seen,
                whole=whole,
                expires=self._clock() + CODE_SECONDS,
            )
            if len(self._issued) > CODES_KEPT:
                self._issued.popitem(last=False)
        return code

    def find(self, code: str, number: int, principal: str) -> Issued:
        """Raises PermissionDenied for a code that was not issued for this proposal and caller, or has
        expired."""
        with self._lock:
            issued = self._issued.get(code)
        if issued is None or (issued.number, issued.principal) != (number, principal):
            raise _refuse("The code is not that of the view in which the person sees the change.")
        if issued.expires < self._clock():
            raise _refuse("The code of this view has expired.")
        return issued

    def use(self, code: str, number: int, principal: str) -> Issued:
        """Use the code for a decision. Raises PermissionDenied if it has been used before."""
        issued = self.find(code, number, principal)
        with self._lock:
            if self._issued.get(code) is not issued or issued.used:
                raise _refuse("The code of this view has been used.")
            self._issued[code] = replace(issued, used=True)
        return issued

    def give_back(self, code: str) -> None:
        """Make the code valid again after a decision failed, so that the person can try again."""
        with self._lock:
            if (issued := self._issued.get(code)) is not None:
                self._issued[code] = replace(issued, used=False)


def _refuse(why: str) -> PermissionDenied:
    return PermissionDenied(
        f"{why} Nothing was decided.",
        hint=f"A person decides in the view, {WHERE}.",
    )


class VaultApps:
    """The views of one server, and its codes. Methods block, and run in a worker."""

    def __init__(
        self,
        engines: VaultEngines,
        review: Callable[[Engine], ReviewRules] | None,
        *,
        decides: Callable[[], bool],
        reviewed: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engines = engines
        self._review = review
        self._decides = decides
        self._reviewed = reviewed
        self._codes = Codes(clock)
        self._listed: bool | None = None
        """Whether tools that change something were listed with the view of changes; None before any list."""
        self._known: bool | None = None
        """The same, as listed or as announced since."""
        self._can_undo = False

    def list_apps(self, tools: Iterable[ToolInfo]) -> Apps:
        """List the views. Tools have the view of changes only if changes wait and can be decided here;
        otherwise it would open for each edit with nothing to decide."""
        listed = tuple(tools)
        shown_by = {tool.name: SHOWN_BY[tool.name] for tool in listed if tool.name in SHOWN_BY}
        self._listed = self._known = self.would_show_changes()
        self._can_undo = any(tool.name == UNDO for tool in listed)
        if self._listed:
            shown_by |= {tool.name: REVIEW for tool in listed if _may_wait(tool)}
        return Apps(VIEWS, shown_by, (DECIDE,) if self._decides() else ())

    def shows_changes(self) -> bool:
        """Whether a client has a view for a change, as it was listed. A client that has requested no list may
        have it from an earlier conversation."""
        return self.would_show_changes() if self._listed is None else self._listed

    def has_changed(self) -> bool:
        """Whether the tools would be listed with different views than before, because a person has switched
        the review on or off since. Returns True only once."""
        now = self.would_show_changes()
        known, self._known = self._known, now
        return known is not None and known != now

    def would_show_changes(self) -> bool:
        return self._decides() and (self._reviewed or self._is_reviewed())

    def _is_reviewed(self) -> bool:
        """Whether a person has set on the page that changes to any vault wait."""
        if self._review is None:
            return False
        for name in self._engines:
            try:
                if store_of(self._engines[name]).policy not in (None, "off"):
                    return True
            except VaultbridgeError:
                # A call of a tool reports why the vault cannot be opened.
                continue
        return False

    def describe(self, answer: Answer, gate: ReviewGate | None, principal: str) -> dict[str, Any] | None:
        """Return the `_meta` of a result, with the data for its view; None if there is nothing to show but
        its text."""
        if gate is not None and gate.left is not None:
            engine, number = gate.left
            return {VIEW_KEY: self._describe(engine, number, principal)}
        return None if answer.figure is None else {VIEW_KEY: answer.figure()}

    def decide(self, arguments: dict[str, Any], principal: str) -> ToolResult:
        """Carry out what a person decided in a view. Raises PermissionDenied without its code,
        InvalidArgument for a decision that makes no sense, and what writing raises."""
        decision = convert(arguments, _Arguments)
        number = parse_id(decision.id)
        if decision.action == "look":
            issued = self._codes.find(decision.code, number, principal)
            return _render("", self._describe(issued.engine, number, principal, code=decision.code))
        issued = self._codes.use(decision.code, number, principal)
        try:
            if decision.action == "undo" or issued.seen == UNDOING:
                return self._undo(decision, issued)
            result = self._carry_out(decision, issued)
        except BaseException:
            self._codes.give_back(decision.code)
            raise
        shown = self._describe(issued.engine, number, principal)
        return _render(result.text, {**shown, "outcome": result.outcome, "message": result.text})

    def _undo(self, decision: _Arguments, issued: Issued) -> ToolResult:
        """Undo an accepted change, for the person who pressed the button: a model that calls the tool for it
        would have to ask them. Raises EditRefused when the notes have changed since."""
        if decision.action != "undo" or issued.seen != UNDOING:
            raise _refuse("The code of this view is for something else.")
        store = store_of(issued.engine)
        Decider(issued.engine, store).undo(issued.number, by=BY)
        shown = self._describe(issued.engine, issued.number, issued.principal)
        text = "Undone: the notes are as they were."
        return _render(text, {**shown, "message": text, "undo": ""})

    def _carry_out(self, decision: _Arguments, issued: Issued) -> DecisionResult:
        decider = Decider(issued.engine, store_of(issued.engine))
        if decision.action == "reject":
            return decider.reject(issued.number, by=BY, reason=decision.reason)
        if not issued.whole:
            raise InvalidArgument(
                "This change is too long to be shown here, so it cannot be accepted here.",
                argument="action",
                hint="Decide on the page or in Obsidian.",
            )
        files = [
            FileDecision(path=file.path, text=file.text, hunks=file.hunks, skip=file.skip)
            for file in decision.files
        ]
        return decider.accept(issued.number, by=BY, seen=issued.seen, files=files, reason=decision.reason)

    def _describe(
        self, engine: DirectEngine, number: int, principal: str, *, code: str = ""
    ) -> dict[str, Any]:
        """Describe a proposal for the view, with a code as long as it can be decided. A view that refreshes
        passes its `code`: it keeps that one, or gets a new one if the proposal has changed."""
        proposal = Decider(engine, store_of(engine)).show(number)
        shown: dict[str, Any] = {"kind": "review", "vault": engine.name, **_describe_proposal(proposal)}
        if proposal.body is None or proposal.status != "waiting":
            decided = proposal.decided
            change = 0 if decided is None else decided.change
            return {
                **shown,
                "decision": describe_decision(proposal),
                "change": change,
                "undo": self._issue_undo(engine, number, principal) if change and self._can_undo else "",
            }
        seen, whole = proposal.body.version.hash, all(file["fits"] for file in shown["files"])
        known = self._codes.find(code, number, principal) if code else None
        if known is not None and known.used:
            code = ""
        elif known is None or known.seen != seen:
            if known is not None:
                self._codes.use(code, number, principal)
            code = self._codes.issue(engine, number, principal, seen=seen, whole=whole)
        return {**shown, "code": code, "whole": whole}

    def _issue_undo(self, engine: DirectEngine, number: int, principal: str) -> str:
        return self._codes.issue(engine, number, principal, seen=UNDOING, whole=True)


def _may_wait(tool: ToolInfo) -> bool:
    hints = tool.annotations
    return not (hints is not None and hints.read_only_hint)


def _describe_proposal(proposal: Proposal) -> dict[str, Any]:
    body = proposal.body
    files: list[dict[str, Any]] = []
    if body is None:
        files = [{"path": row.path, "was": row.was, "change": row.change} for row in proposal.rows]
    else:
        room = VIEW_CHARS
        for file in body.version.files:
            form, used = _describe_file(file, body.version.conflicts.get(file.path, ""), room)
            files.append(form)
            room -= used
    return {
        "id": proposal.id,
        "status": proposal.status,
        "assistant": proposal.actor,
        "tool": proposal.tool,
        "label": proposal.label,
        "reason": proposal.why,
        "files": files,
        "moreFiles": proposal.more,
        "notices": [] if body is None else list(body.version.notices),
        "conflict": "" if body is None else body.version.conflict,
        "rebased": 0 if body is None else body.rebased,
    }


def _describe_file(file: PlannedFile, conflict: str, room: int) -> tuple[dict[str, Any], int]:
    """Describe a file. Returns also how much of the room it takes. `text` is the new text, for a person who
    edits it; `hunks` are the changes, as in a diff."""
    form: dict[str, Any] = {"path": file.path, "was": file.was, "change": file.change, "conflict": conflict}
    if not has_text(file):
        size = len((file.after if file.after is not None else file.before) or b"")
        return {**form, "fits": True, "size": size}, 0
    old, new = texts_of(file)
    if len(old) + len(new) > room:
        return {**form, "fits": False}, 0
    hunks = [
        {"old": hunk.old_start, "new": hunk.new_start, "lines": list(hunk.lines)} for hunk in hunks_of(file)
    ]
    return {**form, "fits": True, "text": new, "hunks": hunks}, len(old) + len(new)


def _render(text: str, shown: dict[str, Any]) -> ToolResult:
    message = text or shown.get("decision") or "The change is waiting for a decision."
    return ToolResult((TextContent(text=message),), meta={VIEW_KEY: shown})
