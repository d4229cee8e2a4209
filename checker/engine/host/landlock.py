"""Landlock: a process of Linux gives up rights that it never has again.  Source: `landlock(7)`, versions 1 to 7."""

from __future__ import annotations

import ctypes
import os
import sys

CREATE, RESTRICT = 444, 446
"""System calls, the same on every processor."""
ASK_VERSION, NO_NEW_PRIVILEGES = 1, 38

WRITE, REMOVE_AND_MAKE, LINK, TRUNCATE = 1 << 1, sum(1 << bit for bit in range(4, 13)), 1 << 13, 1 << 14
BIND_AND_CONNECT = 3


def forbid_writing() -> bool:
    """Forbid this process and its children to open files for writing, and to make or remove files or directories.

    From Linux 6.7 on, also to bind or connect TCP.  Return False, and forbid nothing, where there is no Landlock or it refuses.
    """
    if sys.platform != "linux":
        return False
    kernel = ctypes.CDLL(None, use_errno=True)
    version = kernel.syscall(CREATE, None, ctypes.c_size_t(0), ASK_VERSION)
    if version < 1:
        return False
    files = WRITE | REMOVE_AND_MAKE | (LINK if version >= 2 else 0) | (TRUNCATE if version >= 3 else 0)
    rights = (ctypes.c_uint64 * 2)(files, BIND_AND_CONNECT) if version >= 4 else (ctypes.c_uint64 * 1)(files)
    rules = kernel.syscall(CREATE, ctypes.byref(rights), ctypes.c_size_t(ctypes.sizeof(rights)), 0)
    if rules < 0:
        return False
    try:
        kernel.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        return bool(kernel.syscall(RESTRICT, rules, 0) == 0)
    finally:
        os.close(rules)
