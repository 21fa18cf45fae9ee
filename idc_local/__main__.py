"""Entry point: prepares the process, then hands over to the command line."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Runs ``idc-local`` with the arguments of the process, and exits."""
    try:
        _main()
    except KeyboardInterrupt:  # while modules were still being imported
        sys.stderr.write("error: interrupted. hint: run it again; what was finished is kept\n")
        sys.exit(130)


def _main() -> NoReturn:
    """The guard is up before any library is imported: one that reaches for the network is stopped and named too."""
    import os
    import warnings

    from idc_local.errors import NetworkBlocked
    from idc_local.lockdown import close_network
    from idc_local.netguard import guard, seal_environment

    seal_environment(os.environ)
    prepare_streams()
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    with guard(allow=False) as log:
        try:
            from idc_local.cli import cli
            from idc_local.cli.boundary import heed_signals
            from idc_local.cli.session import App
        except NetworkBlocked as error:
            sys.stderr.write(f"error: {error}\n")
            sys.exit(error.exit_code)
        heed_signals()
        cli.main(obj=App(close_network=close_network, early=log))


def prepare_streams() -> None:
    """Makes output UTF-8 whatever the locale says, with escapes for what UTF-8 cannot hold; opens what was closed.

    PYTHONUNBUFFERED leaves out the buffer, and with it the care for a write that takes a part alone: what a disk that
    fills up did not take would be lost without an error.
    """
    import io
    import os

    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  # for as long as the process lasts
    if isinstance(sys.stdout, io.TextIOWrapper) and isinstance(sys.stdout.buffer, io.RawIOBase):
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(sys.stdout.buffer), write_through=True)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


if __name__ == "__main__":
    main()
