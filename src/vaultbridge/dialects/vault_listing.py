"""The list of tools at hand: what the catalog would say, written down beforehand.

A client asks for the tools right after its first answer. Importing every tool and deriving its schema costs
more than all the rest of that answer, so the result for each way to look at the tools is kept in
`vault_tools.json`; the catalog itself is loaded a moment later. A test holds the file to the catalog, and a
running server compares the two and announces a changed list should they ever differ. After a change of a
tool:

    python -m vaultbridge.dialects.vault_listing
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from vaultbridge.dialects.mcp_values import ToolAnnotations, ToolInfo

if TYPE_CHECKING:
    from vaultbridge.tools.catalog import Catalog
    from vaultbridge.tools.tool import ListedTool
    from vaultbridge.tools.workshop import Profile

_FILE: Final = __file__.removesuffix("vault_listing.py") + "vault_tools.json"


def at_hand(profile: Profile, *, read_only: bool, vaults: tuple[str, ...]) -> tuple[ToolInfo, ...] | None:
    """The tools without loading the catalog; None when there is no such file, as in a tree being worked
    on."""
    try:
        with open(_FILE, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return None
    lists = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    tools = msgspec.json.decode(lists[_key(profile, read_only=read_only)], type=tuple[ToolInfo, ...])
    if len(vaults) < 2:
        return tools
    from vaultbridge.tools.schema import with_vault

    return tuple(replace(tool, input_schema=with_vault(tool.input_schema, vaults)) for tool in tools)


def tool_info(tool: ListedTool) -> ToolInfo:
    return ToolInfo(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=msgspec.convert(tool.annotations, ToolAnnotations) if tool.annotations else None,
    )


def written_down(catalog: Catalog) -> bytes:
    """What the file should hold."""
    lists: dict[str, list[ToolInfo]] = {}
    profiles: tuple[Profile, ...] = ("full", "core", "read-only")
    for profile in profiles:
        for read_only in (False, True):
            listing = catalog.listing(profile=profile, read_only=read_only)
            lists[_key(profile, read_only=read_only)] = [tool_info(tool) for tool in listing]
    # A tool a line, so that a change of one shows as one.
    rows = (
        msgspec.json.encode(key) + b":[\n" + b",\n".join(map(msgspec.json.encode, tools)) + b"\n]"
        for key, tools in lists.items()
    )
    return b"{" + b",\n".join(rows) + b"}\n"


def _key(profile: Profile, *, read_only: bool) -> str:
    # Without changes, all tools and the read-only ones are the same.
    if profile == "core":
        return "core, read-only" if read_only else "core"
    return "read-only" if read_only else profile


def _write() -> None:
    from vaultbridge.tools.standard import standard_catalog

    with open(_FILE, "wb") as file:
        file.write(written_down(standard_catalog()))


if __name__ == "__main__":
    _write()
