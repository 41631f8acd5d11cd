"""All routes of the Vault view, and the link that opens the page."""

from __future__ import annotations

from typing import Any

from vaultbridge.web.api.drawings import add_drawing_routes
from vaultbridge.web.api.files import add_file_routes
from vaultbridge.web.api.notes import add_note_routes
from vaultbridge.web.api.routes import PageApi, PageCall
from vaultbridge.web.codes import LinkCodes
from vaultbridge.web.media import MediaLinks


def add_vault_routes(api: PageApi, media: MediaLinks, codes: LinkCodes) -> None:
    async def make_code(call: PageCall) -> Any:
        return {"code": codes.make()}

    add_file_routes(api)
    add_note_routes(api, media)
    add_drawing_routes(api, media)
    api.post("/code", make_code, owner=True)
