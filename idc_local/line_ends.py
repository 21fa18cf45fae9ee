r"""Where a line ends: at ``\n``, ``\r\n`` or a lone ``\r``, which is how lines are counted for people. Pure."""

from __future__ import annotations

import re

LINE_END = re.compile(r"(?:\r\n|\r|\n)")
"""One line end; its ``pattern`` can be part of a larger one."""
