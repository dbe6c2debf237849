"""What a call costs beside peers, and what they do where a server misbehaves."""
