"""How often stated intervals hold the truth."""
