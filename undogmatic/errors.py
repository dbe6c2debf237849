"""Everything that can go wrong on purpose, in one tree.

    UndogmaticError
    |- ConfigError            a key, value or file the user chose; edit and rerun, never retried
    |- DataError              a line, field or pair in the data; edit and rerun, never retried
    |- RunStopped             the run ended early but cleanly; what was judged is kept
    |  |- BudgetExceeded      the call or cost budget is full
    |  `- StorageError        the disk does not take what is to be written
    `- ModelError             one answer could not be had; becomes a Failure, never a number
       |- TransportError      refused, reset, 5xx, 429 after all retries
       |- AnswerTimeout       no answer within the time limit
       |- RefusedAnswer       the model declined to answer
       |- UnparseableAnswer   an answer came, and it is not what was asked for
       |- OffScaleAnswer      an answer came, and its score lies outside the rubric
       |- UndecidedAnswer     the judge's own answers contradict each other, and none of them counts
       |- UnfitInput          the item lacks what the judge reads
       `- JudgeFault          a judge, a readout or a step broke down over this item

Messages name the key, the value, the options and the next step; the command line prints them
without a traceback.
"""

from typing import Any


class UndogmaticError(Exception):
    """Base of all our exceptions; `exit_status` is what the command line returns."""

    exit_status = 1

    def __init_subclass__(cls, **facts: Any) -> None:
        for name, value in facts.items():
            setattr(cls, name, value)


class ConfigError(UndogmaticError, exit_status=2):
    """A configured key or value cannot be used."""


class DataError(UndogmaticError, exit_status=2):
    """An input file cannot be used as it is."""


class RunStopped(UndogmaticError, exit_status=3):
    """The run stopped before every item was judged; the journal holds what was."""


class BudgetExceeded(RunStopped):
    """`engine.max_calls` or `engine.max_usd` is used up."""


class StorageError(RunStopped):
    """A file cannot be written: the disk is full, the folder is read-only, something else lies in
    its place."""


LONGEST_MESSAGE = 2000
"""Characters of a message that quotes an answer; it goes into reports, and back to the model with
the retry."""


class ModelError(UndogmaticError):
    """One judgment could not be made. `raw` keeps what the model said, if anything."""

    kind = "transport"

    def __init__(self, message: str, raw: str | None = None) -> None:
        super().__init__(
            message
            if len(message) <= LONGEST_MESSAGE
            else f"{message[:LONGEST_MESSAGE]} ..."
        )
        self.raw = raw


class TransportError(ModelError, kind="transport"):
    """The server could not be reached or answered with an error, after all retries."""


class AnswerTimeout(ModelError, kind="timeout"):
    """The server did not answer within `engine.timeout` seconds, after all retries."""


class RefusedAnswer(ModelError, kind="refusal"):
    """The model declined."""


class UnparseableAnswer(ModelError, kind="unparseable"):
    """The answer does not have the agreed form, after all retries."""


class OffScaleAnswer(ModelError, kind="off_scale"):
    """The answer's score is outside the rubric, or too little probability lies on its levels."""


class UndecidedAnswer(ModelError, kind="undecided"):
    """A judge that was asked twice said two things; `raw` is what it said."""


class UnfitInput(ModelError, kind="input"):
    """The item lacks what the judge reads: an input, or a sentence in it. Asking again would not
    help."""


class JudgeFault(ModelError, kind="fault"):
    """The code that judges or makes an item raised an exception that is none of ours; the message
    names the place."""


def ours(error: BaseException | None) -> UndogmaticError | None:
    """The error of ours that `error` is or came from: what we raise inside of a library comes out
    wrapped."""
    while error is not None and not isinstance(error, UndogmaticError):
        error = error.__cause__ or error.__context__
    return error
