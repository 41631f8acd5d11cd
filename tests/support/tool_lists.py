"""Asks a bridge over stdio which tools it lists, and waits until the list is the one of the other side."""

from __future__ import annotations

from support.process import Process


async def list_tool_names(bridge: Process) -> list[str]:
    return [tool["name"] for tool in (await bridge.ask("tools/list"))["result"]["tools"]]


async def wait_for_tool_change(bridge: Process) -> None:
    while (await bridge.read()).get("method") != "notifications/tools/list_changed":
        pass


async def wait_for_tools(bridge: Process) -> list[str]:
    """The other side's tools, as soon as they are listed: on a busy machine the first list lacks them."""
    while (listed := await list_tool_names(bridge)) == ["bridge_status"]:
        await wait_for_tool_change(bridge)
    return listed
