"""The settings of the embedding model: its address, its prompts, and which notes must never be sent.

`prompts_for` has the words that common models need before a question and before a passage: a model trained
with them finds much less without them. The server reads the key; nothing here reads the environment.
"""

from __future__ import annotations

import hashlib
import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

BATCH: Final = 32
"""How many passages one request has: enough to keep a model busy, and some seconds of work for a small
machine."""

TIMEOUT_SECONDS: Final = 60.0
"""How long one batch may take: a large model without a graphics card needs about a second for a passage."""

WAIT_MILLISECONDS: Final = 200
"""How long a search waits for the vector of its question: a model on the same machine needs 10 to 100."""


class EmbeddingSettings(Struct, frozen=True, kw_only=True):
    """`url` is the address of the API, with or without `/embeddings` at its end. `key` is the secret itself;
    `key_env` names the variable that it came from, for messages. `private` are patterns, as in a scope, of
    notes that are never sent. None as a prompt means the one that the model is known to need."""

    url: str
    model: str
    key: str = ""
    key_env: str = ""
    private: tuple[str, ...] = ()
    question_prompt: str | None = None
    passage_prompt: str | None = None
    dimensions: int = 0
    batch: int = BATCH
    timeout_seconds: float = TIMEOUT_SECONDS
    wait_ms: int = WAIT_MILLISECONDS
    allow_http: bool = False

    @property
    def prompts(self) -> tuple[str, str]:
        """The texts that are put before a question and before a passage."""
        question, passage = prompts_for(self.model)
        return (
            question if self.question_prompt is None else self.question_prompt,
            passage if self.passage_prompt is None else self.passage_prompt,
        )

    @property
    def problem(self) -> str:
        """Why nothing can be sent, for people; "" when all is well."""
        if self.key_env and not self.key:
            return f"the environment variable {self.key_env} is not set"
        return explain_bad_url(self.url, allow_http=self.allow_http)

    def __repr__(self) -> str:
        """Without the key: a settings object may appear in a log."""
        return f"EmbeddingSettings(url={self.url!r}, model={self.model!r})"

    def fingerprint(self, version: int) -> str:
        """Return a text that differs for settings whose vectors cannot be compared with ours. A question's
        prompt is not part of it, because questions are not stored."""
        parts = (str(version), self.url.rstrip("/"), self.model, self.prompts[1], str(self.dimensions))
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


_PROMPTS: Final[tuple[tuple[str, str, str], ...]] = (
    (r"nomic-embed", "search_query: ", "search_document: "),
    (r"embedding-?gemma", "task: search result | query: ", "title: none | text: "),
    (
        r"qwen3-embed",
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:",
        "",
    ),
    (
        r"e5-mistral|e5-.*instruct",
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ",
        "",
    ),
    (r"(^|[/-])(multilingual-)?e5-", "query: ", "passage: "),
    (
        r"mxbai-embed|bge-(small|base|large)-en|snowflake-arctic-embed",
        "Represent this sentence for searching relevant passages: ",
        "",
    ),
)
"""A model's name, and what its makers put before a question and before a passage in training."""


def prompts_for(model: str) -> tuple[str, str]:
    """Return the prompts for questions and for passages that the model is known to need; empty for any
    other."""
    name = model.lower()
    for pattern, question, passage in _PROMPTS:
        if re.search(pattern, name):
            return question, passage
    return "", ""


def explain_bad_url(url: str, *, allow_http: bool) -> str:
    """Why this address cannot be used, or "" if it can. Notes go over plain http only within the machine."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return "the url is not an address such as http://localhost:11434/v1"
    if parts.scheme not in ("http", "https") or not host or port == 0:
        return "the url should begin with http:// or https://, such as http://localhost:11434/v1"
    if parts.username is not None or parts.password is not None:
        return "the url contains a password; put the key into an environment variable and name it in key_env"
    if parts.query or parts.fragment:
        return "the url should end with its path, such as http://localhost:11434/v1"
    if parts.scheme == "http" and not allow_http and not is_loopback(host):
        return (
            "plain http would send notes unencrypted through the network; use https, or set allow_http = true"
        )
    return ""


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
