"""`extract`: a document becomes the text that is to be summarised or judged."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from undogmatic.constructs.faithfulness.documents.document import read_document
from undogmatic.engine.step import Step
from undogmatic.errors import DataError, UnparseableAnswer
from undogmatic.records.records import Item


class ExtractStep(Step):
    """One item of each, under its own id, with the document's text in the place of its path.

    The other inputs and all metadata stay; `pages`, `words` and `document_sha256` come to the metadata, and `warnings`
    where there are any. A document that cannot be read is a failure with its reason, and so is one that is another file
    than `document_sha256` in the metadata says. An item without a document, but with its text, stays as it is.

    Args:
        document: The input that holds the path of a .pdf, .txt or .md file.
        text: The input that the text becomes.
    """

    name = "extract"

    def __init__(self, document: str = "document", text: str = "opinion") -> None:
        self.document, self.text = document, text

    async def make(self, item: Item) -> Sequence[Item]:
        """The item with its text. Raises UnparseableAnswer, DataError where it has neither document nor text."""
        if self.document not in item.inputs:
            if self.text in item.inputs:
                return [item]
            raise DataError(
                f"{item.place + ': ' if item.place else ''}item {item.id!r} has neither an input `{self.document}` nor "
                f"`{self.text}` (it has: {', '.join(item.inputs)}). Name it: steps=[{{step: extract, document: NAME}}]."
            )
        try:
            # In a thread: a long PDF takes seconds, in which other items' answers wait to be read.
            found = await asyncio.to_thread(read_document, item.inputs[self.document])
        except DataError as error:
            raise UnparseableAnswer(str(error)) from None
        told = item.metadata.get("document_sha256")
        if told is not None and told != found.sha256:
            raise UnparseableAnswer(
                f"{item.inputs[self.document]}: another file than expected (SHA-256 {found.sha256[:12]}..., expected "
                f"{str(told)[:12]}...). Fetch the right one, or correct `document_sha256`."
            )
        added = {"pages": found.pages, "words": found.words, "document_sha256": found.sha256}
        if found.warnings:
            added["warnings"] = list(found.warnings)
        inputs = {self.text: found.text} | {k: v for k, v in item.inputs.items() if k not in (self.document, self.text)}
        return [item.model_copy(update={"inputs": inputs, "metadata": item.metadata | added})]
