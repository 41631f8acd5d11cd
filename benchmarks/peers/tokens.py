"""Counts tokens as the o200k models do, with the package `gpt-tokenizer`; where npm or Node is missing, four
characters are counted as one token, and `name` says so."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable

from install import NotInstallable, find_node, install_npm

CHARS_PER_TOKEN = 4
"""What English prose and JSON have on average."""

PROGRAM = """
import {encode} from './node_modules/gpt-tokenizer/esm/encoding/o200k_base.js';
import {readFileSync} from 'node:fs';
const texts = JSON.parse(readFileSync(0, 'utf8'));
console.log(JSON.stringify(texts.map((text) => encode(text).length)));
"""

COUNT_SECONDS = 60.0
"""How long counting may take; a whole run is counted in one second."""


class TokenCounter:
    def __init__(self) -> None:
        try:
            self._folder = install_npm("gpt-tokenizer")
            self._node = find_node()
            self.name = "o200k"
        except NotInstallable as reason:
            self._node = ""
            self.name = f"estimated as characters / {CHARS_PER_TOKEN}, because {reason}"

    def count(self, texts: Iterable[str]) -> list[int]:
        listed = list(texts)
        if not self._node:
            return [-(-len(text) // CHARS_PER_TOKEN) for text in listed]
        done = subprocess.run(
            [self._node, "--input-type=module", "--eval", PROGRAM],
            cwd=self._folder,
            input=json.dumps(listed),
            capture_output=True,
            text=True,
            timeout=COUNT_SECONDS,
            check=True,
        )
        counts: list[int] = json.loads(done.stdout)
        return counts
