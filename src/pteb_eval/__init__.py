"""How much of a text-embedding model's score survives a rewording."""

__version__ = "0.1.0"
