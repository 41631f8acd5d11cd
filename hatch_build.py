"""Gives the package's description links that work elsewhere: the README's lead to files of this repository,
and on PyPI there are none. Pictures and pages are those of the version that is built."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")


class AbsoluteLinks(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text("utf-8")
        text = make_links_absolute(text, metadata["urls"]["Homepage"], metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def make_links_absolute(text: str, home: str, version: str) -> str:
    """Rewrite each link and picture that leads to a file of the repository at `home`."""

    def rewrite(link: re.Match[str]) -> str:
        target = link["target"]
        if "://" in target or target.startswith("#"):
            return link[0]
        kind = "raw" if link["picture"] else "tree" if target.endswith("/") else "blob"
        return f"{link['picture']}[{link['text']}]({home}/{kind}/v{version}/{target})"

    return _LINK.sub(rewrite, text)
