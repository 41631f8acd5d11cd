"""A task of Windows' Task Scheduler, which runs at logon (its XML schema 1.2, and `schtasks`)."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from vaultbridge.server.config.model import config_file
from vaultbridge.server.service.definition import TITLE, Service, read_command

TASK: Final = "vaultbridge"
FILE_NAME: Final = "service.xml"
NAMESPACE: Final = "http://schemas.microsoft.com/windows/2004/02/mit/task"

RETRIES: Final = 100
"""How often a bridge that has failed is started again, once a minute: a vault's disk may come later."""


class TaskScheduler:
    """The task keeps its own copy of the definition; ours is next to the configuration."""

    name = "Task Scheduler"

    def find_file(self, environ: Mapping[str, str]) -> Path:
        return config_file(environ).parent / FILE_NAME

    def render(self, service: Service) -> bytes:
        task = ElementTree.Element("Task", {"version": "1.2", "xmlns": NAMESPACE})

        def add(parent: ElementTree.Element, name: str, text: str = "") -> ElementTree.Element:
            element = ElementTree.SubElement(parent, name)
            element.text = text or None
            return element

        add(add(task, "RegistrationInfo"), "Description", TITLE)
        add(add(add(task, "Triggers"), "LogonTrigger"), "Enabled", "true")
        principal = ElementTree.SubElement(add(task, "Principals"), "Principal", {"id": "Author"})
        add(principal, "LogonType", "InteractiveToken")
        add(principal, "RunLevel", "LeastPrivilege")
        settings = add(task, "Settings")
        add(settings, "MultipleInstancesPolicy", "IgnoreNew")
        add(settings, "DisallowStartIfOnBatteries", "false")
        add(settings, "StopIfGoingOnBatteries", "false")
        add(settings, "ExecutionTimeLimit", "PT0S")
        restart = add(settings, "RestartOnFailure")
        add(restart, "Interval", "PT1M")
        add(restart, "Count", str(RETRIES))
        actions = ElementTree.SubElement(task, "Actions", {"Context": "Author"})
        execute = add(actions, "Exec")
        program, *words = service.command
        add(execute, "Command", program)
        add(execute, "Arguments", subprocess.list2cmdline(words))
        ElementTree.indent(task)
        # `schtasks` expects UTF-16.
        text = ElementTree.tostring(task, encoding="unicode")
        return f'<?xml version="1.0" encoding="UTF-16"?>\n{text}\n'.encode("utf-16")

    def parse(self, data: bytes) -> Service | None:
        try:
            task = ElementTree.fromstring(data)
        except (ElementTree.ParseError, ValueError):
            return None
        place = f"./{{{NAMESPACE}}}Actions/{{{NAMESPACE}}}Exec/{{{NAMESPACE}}}"
        words = _split(task.findtext(f"{place}Arguments", ""))
        return read_command([task.findtext(f"{place}Command", ""), *words], ())

    def list_starting(self, file: Path) -> list[list[str]]:
        create = ["schtasks", "/Create", "/TN", TASK, "/XML", str(file), "/F"]
        return [create, ["schtasks", "/Run", "/TN", TASK]]

    def list_ending(self, file: Path) -> list[list[str]]:
        return [["schtasks", "/End", "/TN", TASK], ["schtasks", "/Delete", "/TN", TASK, "/F"]]

    def list_forgetting(self) -> list[list[str]]:
        return []

    def explain_log(self, environ: Mapping[str, str]) -> str:
        return f"schtasks /Query /TN {TASK} /V /FO LIST"


def _split(text: str) -> list[str]:
    """The arguments that `subprocess.list2cmdline` has joined. Backslashes are doubled only before a quote,
    where a path has none: no Windows path contains a quote."""
    return [_unquote(word) for word in re.findall(r'"[^"]*"|\S+', text)]


def _unquote(word: str) -> str:
    quoted = word.startswith('"')
    bare = word.strip('"')
    # `"C:\\"`: list2cmdline doubles what stands before its closing quote.
    return re.sub(r"(\\+)$", lambda end: end[1][: len(end[1]) // 2], bare) if quoted else bare
