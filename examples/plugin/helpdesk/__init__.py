"""Adds to undogmatic what a help desk needs: a reader, an examination and a judge."""
