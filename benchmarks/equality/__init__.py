"""Stores what the commands answer and says what has changed since: a redesign's safety net."""
