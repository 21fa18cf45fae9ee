"""Every error that the package raises on purpose.

IdcError                 exit  hint: the command or the change that mends it
├── UsageError            2    wrong options or arguments
├── ConfigError           2    a configuration file or environment variable that cannot be used
├── InputError            2    a document, query file or data set that cannot be used
├── NothingFound          1    a check that was not met, an id that names nothing
├── ModelError            3    a model that is missing, damaged, or does not do what it should
├── StoreError            4    an index that is damaged or cannot be written
│   ├── StoreLocked       4    another process writes to the index
│   ├── StoreMismatch     4    an index made with another model or format
│   └── StoreCorrupt      4    a file of the index is not what its manifest says
└── NetworkBlocked        4    something tried to reach the network
"""

from __future__ import annotations

import shlex


class IdcError(Exception):
    """Base of all errors with a message for people: one line that says what, and a hint that says how to go on."""

    exit_code = 2

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}. hint: {self.hint}" if self.hint else self.message


class UsageError(IdcError):
    """Options or arguments that do not go together."""


class ConfigError(IdcError):
    """A configuration file or environment variable that cannot be used; ``origin`` is its path or name."""

    def __init__(self, message: str, *, hint: str = "", origin: str = "") -> None:
        super().__init__(message, hint=hint)
        self.origin = origin


class InputError(IdcError):
    """A document, query file or data set that cannot be used."""


class NothingFound(IdcError):
    """Nothing matched, or a check was not met."""

    exit_code = 1


class ModelError(IdcError):
    """A model that is missing, damaged, or does not do what it should."""

    exit_code = 3


class StoreError(IdcError):
    """An index that is damaged, missing or cannot be written."""

    exit_code = 4


class StoreLocked(StoreError):
    """Another process writes to the index."""


class StoreMismatch(StoreError):
    """An index that was made with another model, setting or format."""


class StoreCorrupt(StoreError):
    """A file of the index is not what its manifest says."""


class NetworkBlocked(IdcError):
    """Something in the process tried to reach the network."""

    exit_code = 4


def quote(place: object) -> str:
    """A path as a word of a command that a hint names."""
    return shlex.quote(str(place))
