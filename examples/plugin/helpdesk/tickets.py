"""Reads the help desk's export: one ticket a line, with the grader's verdict and an agent's."""

from undogmatic.datasets.readers import of_columns

READER = of_columns(
    "an export of the help desk",
    keys=["ticket", "grading"],
    columns={
        "item": "ticket.number",
        "text": "ticket.answer",
        "judge": "grading.model",
        "verdict": "grading.solved",
        "rater": "=agent",
        "label": "agent.solved",
        "queue": "ticket.queue",
    },
)
