"""The pictures of the documents show the page as it is: `make screenshots` makes them anew."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

from browser.chromium import Chromium
from browser.screenshots import keep_screenshot
from browser.serving import CONNECTED, Serving
from vaultbridge.web.media import measure_picture

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"

NOTE = f"/#/note/{quote('Projects/Light pollution survey.md')}"
COMPLETE = "document.querySelector('math') && document.querySelectorAll('.row').length > 5"


async def test_the_picture_of_a_note_can_be_made_again(chromium: Chromium, tmp_path: Path) -> None:
    vault = tmp_path / "Nightjar Hill"
    shutil.copytree(ROOT / "examples" / "sample-vault", vault)
    serving = Serving(vault, tmp_path / "home")
    serving.index()
    with serving.running():
        async with chromium.page(serving.link()) as page:
            await page.until(CONNECTED)
            await page.go(serving.url + NOTE)
            await page.until(COMPLETE)
            await keep_screenshot(page, "note")


def test_the_documents_show_pictures_that_exist() -> None:
    shown = set()
    for document in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for link in re.findall(r"!\[[^\]]*\]\(([^)]*images/[^)]+)\)", document.read_text("utf-8")):
            file = document.parent / link
            assert file.is_file(), f"{document.name}: {link}"
            size = measure_drawing(file) if file.suffix == ".svg" else measure_picture(file.read_bytes())
            assert size is not None, link
            width, height = size
            assert width >= 600 and height >= 300, link
            shown.add(file.resolve())
    assert shown == set(IMAGES.iterdir()), "a picture that no document shows"


def measure_drawing(file: Path) -> tuple[float, float]:
    """Return width and height of an SVG file, which must be one that can be read as XML."""
    left, top, width, height = map(float, ElementTree.parse(file).getroot().attrib["viewBox"].split())
    assert (left, top) == (0, 0), file.name
    return width, height
