"""The one exception that a user's mistake ends in."""


class UserError(Exception):
    """A mistake that the user can mend: names the file or key, the bad value and what to do.

    The command line prints the message in one line and exits with status 2; no traceback is shown.
    """
