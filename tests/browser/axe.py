"""axe-core in the page under test: what a person with a screen reader or poor sight would stumble over.

    assert await find_barriers(page) == []

It comes with the packages of `web/` (`make web` installs them). Without them the check is skipped, except
where `VAULTBRIDGE_NEEDS_AXE` is set.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from browser.chromium import Page

SOURCE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


async def find_barriers(page: Page) -> list[str]:
    """Every violation of WCAG A and AA, as "rule: element: why"."""
    if not SOURCE.exists():
        if os.environ.get("VAULTBRIDGE_NEEDS_AXE"):
            pytest.fail("axe-core is not installed: run `make web`")
        pytest.skip("axe-core is not installed: `make web` installs it")
    if not await page.run("typeof axe === 'object'"):
        await page.run(SOURCE.read_text("utf-8") + "\n;true")
    answer = await page.run(
        f"axe.run(document, {{ runOnly: {json.dumps(RULES)}, resultTypes: ['violations'] }}).then((found) =>"
        " JSON.stringify(found.violations.flatMap((rule) => rule.nodes.map((node) =>"
        " `${rule.id}: ${node.target.join(' ')}: ${node.failureSummary}`))))"
    )
    found: list[str] = json.loads(answer)
    return found
