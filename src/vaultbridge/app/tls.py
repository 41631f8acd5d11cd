"""The certificate that a server shows: loaded before anything is opened, and told apart from every other.

Its fingerprint is remembered for this person's own commands: they know by it that they speak to this very
server, whoever signed the certificate and for whatever name.
"""

from __future__ import annotations

import hashlib
import ssl
from pathlib import Path
from typing import Final

from msgspec import Struct

from vaultbridge.app.config import ServerConfig
from vaultbridge.errors import InvalidArgument

_BEGIN: Final = "-----BEGIN CERTIFICATE-----"
_END: Final = "-----END CERTIFICATE-----"


class Tls(Struct, frozen=True):
    """`fingerprint` is the certificate's SHA-256, in hexadecimal."""

    context: ssl.SSLContext
    fingerprint: str


def load_tls(server: ServerConfig) -> Tls | None:
    """None without a certificate. Raises InvalidArgument when it or its key cannot be used."""
    if not server.tls_certificate:
        return None
    file = Path(server.tls_certificate).expanduser()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(file, Path(server.tls_key).expanduser())
        text = file.read_text("ascii", "replace")
    except (OSError, ssl.SSLError) as error:
        why = getattr(error, "reason", None) or getattr(error, "strerror", None) or "unreadable"
        raise InvalidArgument(
            f"The TLS certificate or key cannot be used: {why}.", argument="usage"
        ) from None
    # The first one is the server's own; what follows are those that signed it.
    own = _BEGIN + text.partition(_BEGIN)[2].partition(_END)[0] + _END
    return Tls(context, hashlib.sha256(ssl.PEM_cert_to_DER_cert(own)).hexdigest())
