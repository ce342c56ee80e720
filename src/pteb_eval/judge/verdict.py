"""What validation says of a judge, in the words of tables and figures."""

RELIABLE, NOT_RELIABLE, NOT_VALIDATED = "reliable", "not reliable", "not validated"


def marked(judge: str, verdict: str) -> str:
    """A judge's name with its verdict behind it, unless it is reliable."""
    return judge if verdict == RELIABLE else f"{judge} ({verdict})"
