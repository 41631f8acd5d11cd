"""Pictures of the page, kept when `VAULTBRIDGE_SCREENSHOTS` names a folder: for people to look at."""

from __future__ import annotations

import os
from pathlib import Path

from browser.chromium import Page


async def keep_screenshot(page: Page, name: str) -> None:
    folder = os.environ.get("VAULTBRIDGE_SCREENSHOTS")
    if folder:
        _write(Path(folder) / f"{name}.png", await page.picture())


def _write(file: Path, picture: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(picture)
