"""What a framework is told of a call that fails: text in memory, while the framework copies it."""

from __future__ import annotations

import ctypes
import threading


class Message(threading.local):
    """The last message of each thread, as text of C."""

    def __init__(self) -> None:
        self.say("")

    def say(self, text: str) -> None:
        """Takes the place of the thread's last message."""
        self._held = ctypes.create_string_buffer(text.encode())

    @property
    def address(self) -> int:
        """Of the thread's last message, which is there until its next one."""
        return ctypes.addressof(self._held)
