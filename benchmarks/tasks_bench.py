"""Counts what twenty everyday requests cost an assistant: calls, tokens and errors, beside two other servers.

    python benchmarks/tasks_bench.py [--only vaultbridge] [--json FILE] [--write-docs] [-v]

Each request is scripted as a careful assistant would call the tools of that server, and carried out over
stdio on a fresh copy of the same vault. Afterwards the notes on disk, or the answer, must be what was asked
for: a request that left anything else changed is not done. Tokens are those of each call's name, arguments
and answer; the list of tools is counted once. The exit code is 1 if ours costs more than the goal.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "peers")]

from servers import OURS, TABLE, Place, Server, Session, load_servers
from tasks import mcpvault, obsidian_mcp_rs, ours
from tasks.assistant import Assistant, NotPossible, describe_tools
from tasks.requests import REQUESTS
from tasks.vault import write
from tokens import TokenCounter

DOCUMENT = HERE.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures of twenty requests -->", "<!-- end of twenty requests -->"

MOST_CALLS = 26
MOST_TOKENS = 6_000
"""The goal, the list of tools included."""

Way = Callable[[Assistant], object]


@dataclass(frozen=True)
class Script:
    """How an assistant fulfils each request, and what comes before some, uncounted."""

    ways: Mapping[str, Way]
    prepare: Mapping[str, Way]


SCRIPTS = {
    OURS: Script(ours.WAYS, ours.PREPARE),
    "mcpvault": Script(mcpvault.WAYS, mcpvault.PREPARE),
    "obsidian-mcp-rs": Script(obsidian_mcp_rs.WAYS, obsidian_mcp_rs.PREPARE),
}


@dataclass
class Done:
    """What one request took. `tokens` are counted at the end of the run."""

    done: bool
    calls: int = 0
    tokens: int = 0
    errors: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    why: str = ""


def fulfil(server: Server, request: Any, script: Script) -> Done:
    with tempfile.TemporaryDirectory(prefix="tasks-", ignore_cleanup_errors=True) as work:
        place = Place(Path(work))
        write(place.vault)
        with Session(server, place) as session:
            assistant = Assistant(session.client)
            if request.name in script.prepare:
                script.prepare[request.name](assistant)
                assert not assistant.errors, assistant.errors
                assistant.forget()
            why = ""
            try:
                script.ways[request.name](assistant)
            except NotPossible as reason:
                why = str(reason)
        done = not why and request.check(place.vault, "\n".join(assistant.texts))
        return Done(done, assistant.calls, 0, assistant.errors, assistant.texts, why)


def list_tools(server: Server) -> str:
    with tempfile.TemporaryDirectory(prefix="tasks-", ignore_cleanup_errors=True) as work:
        place = Place(Path(work))
        with Session(server, place) as session:
            return describe_tools(session.client.request("tools/list", {})["result"]["tools"])


def measure(server: Server, counter: TokenCounter, only: list[str] | None) -> tuple[dict[str, Done], int]:
    script = SCRIPTS[server.name]
    results = {
        request.name: fulfil(server, request, script)
        for request in REQUESTS
        if only is None or request.name in only
    }
    flat = [text for result in results.values() for text in result.texts]
    counts = iter(counter.count([list_tools(server), *flat]))
    listing = next(counts)
    for result in results.values():
        result.tokens = sum(next(counts) for _ in result.texts)
    return results, listing


def render(measured: Mapping[str, tuple[dict[str, Done], int]], versions: Mapping[str, str]) -> str:
    names = list(measured)
    rows = [
        ["", *(f"{name} {versions[name]}" for name in names)],
        ["---", *("---:" for _ in names)],
    ]
    for request in REQUESTS:
        row = [f"{request.name}: {request.asked}"]
        for name in names:
            result = measured[name][0].get(request.name)
            row.append(_render_result(result) if result is not None else "")
        rows.append(row)
    totals = {name: _total(*measured[name]) for name in names}
    for title, key in (
        ("**done**", "done"), ("**calls**", "calls"), ("**errors**", "errors"),
        ("tokens of calls and answers", "spent"), ("tokens of the list of tools", "listing"),
        ("**tokens together**", "tokens"),
    ):  # fmt: skip
        rows.append([title, *(f"{totals[name][key]:,}" for name in names)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _render_result(result: Done) -> str:
    if not result.done:
        return "not possible" if result.why else "✗ not done"
    calls = "1 call" if result.calls == 1 else f"{result.calls} calls"
    return f"{calls}, {result.tokens:,} tokens"


def _total(results: Mapping[str, Done], listing: int) -> dict[str, int]:
    spent = sum(result.tokens for result in results.values())
    return {
        "done": sum(result.done for result in results.values()),
        "calls": sum(result.calls for result in results.values()),
        "errors": sum(len(result.errors) for result in results.values()),
        "spent": spent,
        "listing": listing,
        "tokens": spent + listing,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=list(SCRIPTS), help="these servers only")
    parser.add_argument("--request", action="append", help="these requests only")
    parser.add_argument("--json", metavar="FILE", help="write the figures there; - for standard output")
    parser.add_argument("--write-docs", action="store_true", help="put the table into docs/benchmarks.md")
    parser.add_argument("-v", "--verbose", action="store_true", help="show every call and answer")
    args = parser.parse_args()
    servers, missing = load_servers(TABLE, args.only or list(SCRIPTS))
    servers = [server for server in servers if args.only is None or server.name in args.only]
    for name, why in missing.items():
        print(f"without {name}: {why}", file=sys.stderr)
    counter = TokenCounter()
    measured = {server.name: measure(server, counter, args.request) for server in servers}
    for name, (results, _) in measured.items():
        for request, result in results.items():
            if args.verbose:
                for text in result.texts:
                    print(f"-- {name}, {request}\n{text}\n")
            for trouble in [*result.errors, *([result.why] if result.why else [])]:
                print(f"{name}, {request}: {trouble}", file=sys.stderr)
    table = render(measured, {server.name: server.version for server in servers})
    print(f"{table}\n\nTokens: {counter.name}.")
    if args.json:
        figures = {
            name: {
                "requests": {key: _figures(result) for key, result in results.items()},
                **_total(results, listing),
            }
            for name, (results, listing) in measured.items()
        }
        text = json.dumps(figures, indent=1, ensure_ascii=False)
        print(text) if args.json == "-" else Path(args.json).write_text(text, "utf-8")
    if args.write_docs:
        page = DOCUMENT.read_text("utf-8")
        head, _, rest = page.partition(BEGIN)
        _, _, tail = rest.partition(END)
        DOCUMENT.write_text(f"{head}{BEGIN}\n\n{table}\n\nTokens: {counter.name}.\n\n{END}{tail}", "utf-8")
    if args.request or OURS not in measured:
        return 0
    total = _total(*measured[OURS])
    good = (
        total["done"] == len(REQUESTS)
        and not total["errors"]
        and total["calls"] <= MOST_CALLS
        and total["tokens"] <= MOST_TOKENS
    )
    return 0 if good else 1


def _figures(result: Done) -> dict[str, Any]:
    return {key: value for key, value in asdict(result).items() if key != "texts"}


if __name__ == "__main__":
    sys.exit(main())
