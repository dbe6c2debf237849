"""Stores what the commands answer, and says what has changed since: the safety net of a redesign."""
