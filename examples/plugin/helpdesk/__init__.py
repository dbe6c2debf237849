"""Adds to undogmatic what a help desk needs: a reader, an examination, a judge and an engine."""
