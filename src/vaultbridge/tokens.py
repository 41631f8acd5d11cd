"""Access tokens: made once, shown once, stored as hashes, limited by a scope, revoked.

They are stored in one file of the config folder that only its owner can read. The store rereads the file
whenever it has changed, so that a revoked token is refused from the next request on, whoever revoked it.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
import secrets
import time
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from vaultbridge.errors import JSON_ERRORS, EngineFailure, InvalidArgument
from vaultbridge.review.policy import Review
from vaultbridge.system import PRIVATE_FILE_BYTES, FileStat, make_private_folder, read_private, write_private
from vaultbridge.vault.locking import FileLock
from vaultbridge.vault.scope import Scope

FILE_NAME: Final = "tokens.json"

PREFIX: Final = "vbt_"
"""Makes a token recognizable in places where it should not be: a commit, a note, a log."""

SECRET_BYTES: Final = 32
"""256 bits: nobody can guess that, so a plain hash is enough."""

TOKENS: Final = 100
"""The most tokens: the file is read as a whole."""

LOCK_SECONDS: Final = 5.0
"""How long a change waits for another process that changes the list, which takes milliseconds."""

NAME_CHARS: Final = 80


class AccessToken(msgspec.Struct, frozen=True, kw_only=True):
    """`expires` is in seconds since the epoch, 0 for never. `vaults` are names or folders of served vaults;
    empty means all of them."""

    id: str
    name: str
    hash: str
    created: float
    expires: float = 0.0
    read_only: bool = False
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    vaults: tuple[str, ...] = ()
    review: Review = "off"

    @property
    def unrestricted(self) -> bool:
        limits = (self.read_only, self.allow, self.deny, self.vaults, self.review != "off")
        return not any(limits)

    def covers(self, name: str, folder: Path) -> bool:
        """Whether it is for the vault that is served under this name. A name may come to mean another vault
        when vaults are added and removed; a folder does not."""
        names = {unicodedata.normalize("NFC", vault) for vault in self.vaults}
        return not names or name in names or unicodedata.normalize("NFC", str(folder)) in names

    @property
    def principal(self) -> str:
        """Identifies the bearer to the protocols. It changes when the token's rights change."""
        return f"token:{self.id}:{hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:16]}"

    def __post_init__(self) -> None:
        if len(self.hash) != 64:
            raise ValueError("the hash is not a SHA-256 hash")


class TokenStore:
    """`folder` is the config folder. Methods raise EngineFailure when the file cannot be used."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._file = folder / FILE_NAME
        self._clock = clock
        # One value, because several threads read it: tokens must never be paired with the stat of another
        # version of the file.
        self._seen: tuple[FileStat | None, dict[str, AccessToken]] = (None, {})

    def make(
        self,
        name: str,
        *,
        read_only: bool = False,
        allow: tuple[str, ...] = (),
        deny: tuple[str, ...] = (),
        vaults: tuple[str, ...] = (),
        seconds: float = 0.0,
        review: Review = "off",
    ) -> tuple[AccessToken, str]:
        """Make a token. Returns it and its text, which cannot be shown again. Raises InvalidArgument."""
        if not name.strip() or len(name) > NAME_CHARS or not name.isprintable():
            raise InvalidArgument(
                f"A token's name must have 1 to {NAME_CHARS} printable characters.", argument="name"
            )
        Scope(allow=allow, deny=deny)  # An invalid pattern must not be stored.
        secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
        now = self._clock()
        token = AccessToken(
            id=secrets.token_hex(4),
            name=name.strip(),
            hash=_hash(secret),
            created=now,
            expires=now + seconds if seconds else 0.0,
            read_only=read_only,
            allow=allow,
            deny=deny,
            vaults=vaults,
            review=review,
        )
        with self._writing() as tokens:
            if len(tokens) >= TOKENS:
                raise InvalidArgument(f"There are already {TOKENS} tokens.", hint="Revoke one.")
            if any(other.name == token.name for other in tokens):
                raise InvalidArgument(
                    f"There is a token named {token.name!r} already.",
                    argument="name",
                    hint="Choose another name, or revoke that one first.",
                )
            tokens.append(token)
        return token, secret

    def list_tokens(self) -> tuple[AccessToken, ...]:
        return tuple(self._load().values())

    def revoke(self, id_or_name: str) -> AccessToken:
        """Revoke a token by id or name. Raises InvalidArgument when there is none."""
        with self._writing() as tokens:
            matching = [token for token in tokens if id_or_name in (token.id, token.name)]
            if not matching:
                raise InvalidArgument(
                    f"There is no token {id_or_name!r}.",
                    hint="`vaultbridge token list` shows them.",
                    argument="token",
                )
            tokens.remove(matching[0])
        return matching[0]

    def check(self, secret: str) -> AccessToken | None:
        """Return the token with this text; None when it is unknown, revoked or expired."""
        hash_ = _hash(secret)
        token = self._load().get(hash_)
        if token is None or not hmac.compare_digest(token.hash, hash_):
            return None
        return None if self.is_expired(token) else token

    def is_expired(self, token: AccessToken) -> bool:
        return bool(token.expires) and token.expires <= self._clock()

    def _load(self) -> dict[str, AccessToken]:
        """Return the tokens by hash; rereads the file if it has changed."""
        try:
            status = self._file.stat()
        except FileNotFoundError:
            return {}
        known_stat, known = self._seen
        stat = FileStat.of(status)
        if stat != known_stat:
            known = {token.hash: token for token in self._read()}
            self._seen = stat, known
        return known

    def _read(self) -> list[AccessToken]:
        data = read_private(self._file)
        if data is None:
            if self._file.exists():
                raise EngineFailure(f"{FILE_NAME} cannot be read.")
            return []
        try:
            return msgspec.json.decode(data, type=list[AccessToken])
        except JSON_ERRORS as error:
            raise EngineFailure(
                f"{FILE_NAME} is damaged, so no token is accepted.", hint="Delete it and create new tokens."
            ) from error

    @contextlib.contextmanager
    def _writing(self) -> Iterator[list[AccessToken]]:
        """Yield the list for changes, while no other process changes it."""
        try:
            make_private_folder(self._file.parent)
            with FileLock(self._file.with_suffix(".lock")).hold(LOCK_SECONDS, what="The list of tokens"):
                tokens = self._read()
                yield tokens
                data = msgspec.json.format(msgspec.json.encode(tokens)) + b"\n"
                if len(data) > PRIVATE_FILE_BYTES:
                    raise InvalidArgument("The tokens have too many patterns.", hint="Revoke some tokens.")
                write_private(self._file, data)
        except OSError as error:
            raise EngineFailure(f"The tokens cannot be stored: {os.strerror(error.errno or 0)}.") from error


UNITS: Final = {"h": 3600.0, "d": 86_400.0, "w": 604_800.0}


def parse_lifetime(text: str, *, argument: str) -> float:
    """Turn `12h`, `30d` or `4w` into seconds; 0 for "", which means forever. Raises InvalidArgument."""
    if not text:
        return 0.0
    match = re.fullmatch(r"([1-9]\d{0,4})([hdw])", text, re.ASCII)
    if match is None:
        raise InvalidArgument(
            f"{text[:40]!r} is not a length of time.", argument=argument, hint="Write it as 12h, 30d or 4w."
        )
    return int(match[1]) * UNITS[match[2]]


def describe_token(token: AccessToken) -> dict[str, Any]:
    """A token for JSON, without its hash, which is private."""
    return {
        "id": token.id,
        "name": token.name,
        "created": token.created,
        "expires": token.expires or None,
        "readOnly": token.read_only,
        "allow": token.allow,
        "deny": token.deny,
        "vaults": token.vaults,
        "review": token.review,
    }


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
