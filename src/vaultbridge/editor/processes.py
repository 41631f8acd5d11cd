"""Whether a process is there. No other question about processes is answered here."""

from __future__ import annotations

import os
import sys


def is_alive(pid: int) -> bool:
    """Whether a process with this id runs; in doubt (it belongs to somebody else), yes."""
    if pid <= 0:
        return False
    if sys.platform == "win32":
        return _is_alive_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return pid < 2**31
    return True


def _is_alive_on_windows(pid: int) -> bool:
    """`os.kill(pid, 0)` would end the process there."""
    import ctypes

    query_limited_information, still_active, access_denied = 0x1000, 259, 5
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined,unused-ignore]
    handle = kernel.OpenProcess(query_limited_information, 0, pid)
    if not handle:
        return bool(ctypes.get_last_error() == access_denied)  # type: ignore[attr-defined,unused-ignore]
    code = ctypes.c_ulong()
    known = kernel.GetExitCodeProcess(handle, ctypes.byref(code))
    kernel.CloseHandle(handle)
    return not known or code.value == still_active
