"""axe-core in the page under test: what a person with a screen reader or poor sight would stumble over.

    assert await find_barriers(page) == []

It is a package of `web/`, pinned for development: taken from there when `make web` has installed it, else
installed into the user's cache folder. Skips where npm cannot bring it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from browser.chromium import Page
from support.node import NotInstallable, install_packages, skip_without_packages

WEB = Path(__file__).parents[2] / "web"

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def find_source() -> Path:
    file = Path("node_modules") / "axe-core" / "axe.min.js"
    if (WEB / file).exists():
        return WEB / file
    try:
        return install_packages("page", WEB) / file
    except NotInstallable as reason:
        skip_without_packages(reason)


async def find_barriers(page: Page, *, skip: Sequence[str] = (), only: Sequence[str] = ()) -> list[str]:
    """Every violation of WCAG A and AA, as "rule: element: why". `skip` are rules that do not apply; with
    `only`, no others are checked."""
    if not await page.run("typeof axe === 'object'"):
        await page.run(find_source().read_text("utf-8") + "\n;true")
    options = {
        "runOnly": {"type": "rule", "values": list(only)} if only else RULES,
        "resultTypes": ["violations"],
        "rules": {rule: {"enabled": False} for rule in skip},
    }
    answer = await page.run(
        f"axe.run(document, {json.dumps(options)}).then((found) =>"
        " JSON.stringify(found.violations.flatMap((rule) => rule.nodes.map((node) =>"
        " `${rule.id}: ${node.target.join(' ')}: ${node.failureSummary}`))))"
    )
    found: list[str] = json.loads(answer)
    return found
