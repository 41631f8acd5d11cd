"""A web application on a free port of this machine, and a certificate for one."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web


@asynccontextmanager
async def serve_app(
    app: web.Application, *, shutdown_timeout: float = 0.2, **options: Any
) -> AsyncIterator[str]:
    """Serve the application; gives the address before its paths."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=shutdown_timeout, **options)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def make_certificate(folder: Path, name: str, *, alternative: str = "") -> tuple[Path, Path]:
    """The file of a certificate that nobody has signed, and that of its key. It is for this name and for
    `alternative`, such as `DNS:localhost`. Skips the test where there is no openssl."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    files = folder / f"{name}.pem", folder / f"{name}.key"
    extension = ["-addext", f"subjectAltName={alternative}"] if alternative else []
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", f"/CN={name}", *extension, "-out", files[0], "-keyout", files[1]],
        capture_output=True, check=True,
    )  # fmt: skip
    return files
