"""A reading process with one more reader, for ``.evil`` files, that does what the file says. Started by tests."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from types import ModuleType

from idc_local.errors import InputError
from idc_local.readers import READERS, ReaderEntry, text, worker
from idc_local.types import Document

EVIL = ReaderEntry("evil", "application/x-evil")


class EvilReader:
    media_types = (EVIL.media_type,)
    suffixes = (".evil",)

    def read(self, data: bytes, path: str, media_type: str) -> Document:
        order, _, argument = data.decode().partition(" ")
        getattr(self, order)(argument)
        sys.stdout.write("noise that must not get into the reply")
        os.write(1, b"native noise")
        return text.READER.read(data, path, media_type)

    def nothing(self, argument: str) -> None:
        pass

    def crash(self, argument: str) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)

    def leave(self, argument: str) -> None:
        os._exit(int(argument))

    def spin(self, argument: str) -> None:
        while True:
            pass

    def sleep(self, argument: str) -> None:
        time.sleep(60)

    def eat(self, argument: str) -> None:
        held = []
        while True:
            held.append(bytearray(1 << 22))

    def dive(self, argument: str) -> None:
        self.dive(argument)

    def refuse(self, argument: str) -> None:
        raise InputError("x.evil: refused", hint="a hint")

    def break_down(self, argument: str) -> None:
        raise KeyError("lost")

    def write(self, argument: str) -> None:
        with open(argument, "w") as file:
            file.write("x")

    def remove(self, argument: str) -> None:
        os.remove(argument)

    def run(self, argument: str) -> None:
        subprocess.run(["touch", argument], check=True)

    def fork(self, argument: str) -> None:
        os.fork()

    def connect(self, argument: str) -> None:
        with socket.socket() as own:
            own.connect(("127.0.0.1", int(argument)))


def main() -> None:
    module = ModuleType("idc_local.readers.evil")
    module.READER = EvilReader()  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    READERS[".evil"] = EVIL
    worker.main()


if __name__ == "__main__":
    main()
