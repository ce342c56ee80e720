"""The one exception that a user's mistake ends in."""

import re

LONGEST = 1000  # characters
_BREAK = re.compile(r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")


def one_line(error: Exception, most: int = 200) -> str:
    """What a library said, for the inside of a message."""
    return " ".join(str(error).split())[:most]


class UserError(Exception):
    """A mistake that the user can mend: names the file or key, the bad value and what to do.

    The command line prints the message in one line and exits with status 2; no traceback is shown.
    Names of files and libraries' own messages may hold line breaks and be long: not so the message.
    """

    def __init__(self, message: str) -> None:
        line = _BREAK.sub(" ", message)
        super().__init__(line if len(line) <= LONGEST else line[: LONGEST - 1] + "…")
