"""What `doctor` says about sharing one bridge: the service, the assistants that share it, and those that
would do better to."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vaultbridge.activity.pauses import Pauses
from vaultbridge.assistants.handshake import check_shared
from vaultbridge.assistants.shared import find_token
from vaultbridge.cli.common import describe_waiting
from vaultbridge.cli.setup.access_checks import Finding
from vaultbridge.cli.setup.share import open_store
from vaultbridge.errors import VaultbridgeError
from vaultbridge.server.service.install import answers, find_kind, find_service
from vaultbridge.server.used_vaults import count_waiting, list_known_vaults
from vaultbridge.system import measure_memory

if TYPE_CHECKING:
    from vaultbridge.assistants.catalog import Assistant
    from vaultbridge.assistants.shared import SharedEntry

MANY_SESSIONS: Final = 3
"""From how many processes for one vault on sharing is proposed: two hold little more than a shared one."""


def check_service() -> Iterator[Finding]:
    """Check the service, if one is installed."""
    kind = find_kind()
    service = find_service(os.environ, kind)
    if service is None:
        return
    gone = [vault for vault in service.vaults if not Path(vault).is_dir()]
    if not Path(service.program[0]).exists():
        advice = "Install it again: vaultbridge service install"
        yield Finding("Bridge", "service", "bad", f"its program {service.program[0]} is missing", advice)
    elif gone:
        advice = "Connect its disk, or install it without the vault: vaultbridge service remove, then install"
        yield Finding("Bridge", "service", "bad", f"its vault {gone[0]} is missing", advice)
    elif not answers(service):
        advice = f"It says why: {kind.explain_log(os.environ)}"
        yield Finding("Bridge", "service", "bad", f"it is not responding at {service.url}", advice)
    else:
        names = ", ".join(Path(vault).name for vault in service.vaults)
        yield Finding("Bridge", "service", "good", f"serves {names} at {service.url}")


def check_shared_entry(assistant: Assistant, name: str, shared: SharedEntry, *, seconds: float) -> Finding:
    """Do what the assistant does: list the tools with the address and the token in its file."""
    title = f"{assistant.name} {name}"
    try:
        if find_token(shared, open_store()) is None:
            again = f"vaultbridge connect {assistant.name} VAULT --shared --replace --name {name}"
            found = "its token was revoked or has expired"
            return Finding("Assistants", title, "bad", found, f"Connect it again: {again}")
        answer = check_shared(shared, seconds=seconds)
    except VaultbridgeError as error:
        advice = error.hint or "See `vaultbridge service status`."
        return Finding("Assistants", title, "bad", error.message, advice)
    found = f"shares the bridge at {shared.url}, which answers with {answer.tools} tools"
    return Finding("Assistants", title, "good", f"{found} in {answer.seconds:.1f} s")


def check_waiting() -> Iterator[Finding]:
    """What holds assistants up until a person acts: pauses, and changes that nobody has reviewed."""
    for known in list_known_vaults(os.environ):
        vault = known.folder.name
        pauses = Pauses([known.state])
        paused = "all assistants are" if pauses.everyone else ", ".join(sorted(pauses.identities.values()))
        if paused:
            advice = "To let them go on: vaultbridge resume"
            yield Finding("Assistants", f"paused in {vault}", "warning", paused, advice)
        if waiting := count_waiting(known.state):
            advice = f"To review them: vaultbridge page {shlex.quote(str(known.folder))}"
            yield Finding("Assistants", f"review of {vault}", "unknown", describe_waiting(waiting), advice)


def check_sessions() -> Iterator[Finding]:
    """Propose sharing to a person who has many processes for one vault."""
    for used in list_known_vaults(os.environ):
        if len(used.pids) < MANY_SESSIONS:
            continue
        measured = [memory for pid in used.pids if (memory := measure_memory(pid)) is not None]
        held = f" and hold {sum(memory.bytes for memory in measured) / 1e6:.0f} MB" if measured else ""
        found = f"{len(used.pids)} processes of `vaultbridge stdio` serve {used.folder.name}{held}"
        place = shlex.quote(str(used.folder))
        advice = (
            f"One bridge can serve them all: vaultbridge service install {place}, then for each assistant "
            f"vaultbridge connect ASSISTANT {place} --shared"
        )
        yield Finding("Assistants", "sessions", "warning", found, advice)
