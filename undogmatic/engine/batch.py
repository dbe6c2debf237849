"""Judges by the batch interfaces of providers: half the price, and answers within a day.

Items are judged as ever, but what they ask is gathered until nobody has anything to add, sent as
one batch, and handed out when the batch has ended. A judge that asks again about an item asks in
the next batch. The run's folder notes each batch before and after it is sent, so that a run which
was killed asks for the batch that it has.
"""

import asyncio
import math
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field
from pydantic_core import to_json

from undogmatic.engine.journal import Journals, cut_torn_line
from undogmatic.engine.local import LocalEngine
from undogmatic.engine.recipe import Recipe
from undogmatic.errors import (
    BudgetExceeded,
    ConfigError,
    DataError,
    ModelError,
    RunStopped,
    TransportError,
    UndogmaticError,
    UnparseableAnswer,
)
from undogmatic.models.base import Model
from undogmatic.models.batches import (
    SHARE,
    Answer,
    Answers,
    Batches,
    BatchLost,
    Unnamed,
    Unsettled,
)
from undogmatic.models.calls import (
    Budget,
    Check,
    Gateway,
    Reply,
    ReplyCache,
    Retryable,
    Send,
    call_key,
    checked,
    note_call,
    reading,
)
from undogmatic.models.hosted import HostedModel
from undogmatic.records.limits import USUAL, Limits, PacedLimits
from undogmatic.records.records import Item, Judgment, Made
from undogmatic.safety import files
from undogmatic.safety.command import as_typed, say
from undogmatic.safety.files import Log
from undogmatic.safety.outside import Unreadable, json_value, read_lines
from undogmatic.safety.secrets import scrub

T = TypeVar("T")

BATCHES = "batches.jsonl"
"""In a run's folder: the batches that it sent."""
NEVER = 1_000_000_000  # items in a row without an answer that would end the run
QUIET = 0.25  # seconds without a new question after which a batch is sent
KEY = 40  # characters of a call's key in a `custom_id`, which may have 64 at most
UNREACHED = 20  # looks in a row that do not reach the provider end the run


class BatchEngine(LocalEngine):
    """Judges as `LocalEngine` does, by batches.

    Args:
        size: Questions in one batch at most, and items in flight.
        poll: Seconds between two looks at a batch.
        wait: Seconds after which the run ends without the answers.
        limits: What it may take at most; `timeout`, `retries` and `backoff` are those of a request
            to the provider.
        cache, cache_dir: As of `LocalEngine`.
    """

    def __init__(
        self,
        size: Annotated[int, Field(ge=1, le=50_000)] = 5000,
        poll: Annotated[float, Field(gt=0, le=3600)] = 30.0,
        wait: Annotated[float, Field(gt=0, le=2_592_000)] = 90_000.0,
        limits: Limits = USUAL,
        cache: bool = True,
        cache_dir: str | None = None,
    ) -> None:
        # All questions of a batch are in flight, and a batch that was cancelled leaves many items
        # without an answer in a row, and others with one. Both are more than a user may set.
        beyond = {"concurrency": size, "stop_after": NEVER}
        paced = PacedLimits(**limits.model_dump()).model_copy(update=beyond)
        super().__init__(paced, cache, cache_dir)
        self.size, self.poll, self.wait = size, poll, wait
        self.folder: Path | None = None

    def gateway(
        self,
        cache: ReplyCache | None,
        budget: Budget | None = None,
        answered: Collection[str] = (),
    ) -> Gateway:
        """Raises ConfigError: a search or a probe asks one question after the other."""
        raise ConfigError(
            "engine=batch judges items alone; a search or a probe needs engine=local."
        )

    def check(self, model: Model, searching: bool = False) -> None:
        """Raise ConfigError where a model has no batches, or where a search asks it one question
        after the other."""
        if searching:
            raise ConfigError(
                "engine=batch judges items alone, and an optimisation asks again and again:"
                " engine=local."
            )
        models = model.all()
        for each in models:
            if isinstance(each, HostedModel) and each.batches is None:
                what = f"engine=batch: {each.name} has no batch interface that is known here"
                ways = (
                    "OpenAI (model=gpt), Anthropic (model=claude), and servers with OpenAI's"
                    " Batch API"
                )
                raise ConfigError(
                    f"{what}. They are: {ways} (++model.batch=true). Or: engine=local."
                )
        if not any(isinstance(each, HostedModel) for each in models):
            names = ", ".join(each.name for each in models)
            raise ConfigError(
                f"engine=batch sends questions to a provider, and {names} answers here. Use"
                " engine=local."
            )

    async def stream(
        self,
        recipe: Recipe,
        items: Iterable[Item],
        journals: Journals,
        repeats: int = 1,
    ) -> AsyncGenerator[Judgment | Made]:
        """See `LocalEngine.stream`."""
        self.folder = journals.folder
        self.check(recipe.build().model)
        async with aclosing(
            super().stream(recipe, items, journals, repeats)
        ) as records:
            async for record in records:
                yield record

    def _door(
        self, model: Model, cache: ReplyCache | None, answered: Collection[str]
    ) -> Gateway:
        hosted = [each for each in model.all() if isinstance(each, HostedModel)]
        return _BatchGateway(self, hosted, cache, answered)


class _Noted:
    """A batch as the run's folder knows it. `closed`: its end was seen, so what it lacks may be
    asked for again. `taken`: the provider took it under an id that its reply did not tell, so it is
    never sent a second time.
    """

    def __init__(
        self, model: str, mark: str, keys: Collection[str], sent: float
    ) -> None:
        self.model, self.mark, self.keys, self.sent = model, mark, frozenset(keys), sent
        self.id: str | None = None
        self.closed = self.taken = False


class _Notes(Log):
    """The batches of a run, each noted before it is sent, when its id is known, and when it has
    ended."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(path, files.ALL)
        self.batches: dict[str, _Noted] = {}
        if path is None or not path.exists():
            return
        cut_torn_line(path)
        for number, line in read_lines(path):
            try:
                said = json_value(line)
                if "keys" in said:
                    self.batches[said["mark"]] = _Noted(
                        said["model"], said["mark"], said["keys"], said["sent"]
                    )
                else:
                    noted = self.batches[said["mark"]]
                    noted.id = said.get("id", noted.id)
                    noted.closed = said.get("closed", noted.closed)
                    noted.taken = said.get("taken", noted.taken)
            except (KeyError, TypeError, AttributeError, Unreadable) as error:
                raise DataError(
                    f"{path}:{number}: no note of a batch ({error}). Delete the line."
                ) from None

    def note(self, **facts: Any) -> None:
        """Write a line. Raises StorageError."""
        import json

        self.add(json.dumps(facts))


class _BatchGateway(Gateway):
    """Gathers the calls of hosted models into batches; those of models in this process are made at
    once."""

    def __init__(
        self,
        engine: BatchEngine,
        hosted: Collection[HostedModel],
        cache: ReplyCache | None,
        answered: Collection[str],
    ) -> None:
        super().__init__(cache, engine.limits, engine.budget, answered=answered)
        folder = engine.folder
        self.notes = _Notes(None if folder is None else folder / BATCHES)
        self.desks = {model.name: _Desk(model, engine, self.notes) for model in hosted}

    async def _asked(
        self,
        model: str,
        request: dict[str, Any],
        send: Send,
        timed: bool,
        check: Check,
        server: str,
    ) -> Reply:
        if (desk := self.desks.get(model)) is None:
            return await super()._asked(model, request, send, timed, check, server)
        started = time.time()
        clock = time.perf_counter()
        key = call_key(model, request)[:KEY]
        shared = key in desk.asked  # another item asks the same, and pays

        def note(**outcome: Any) -> None:
            note_call(
                model, request, started, seconds=time.perf_counter() - clock, **outcome
            )

        try:
            reply = checked(await desk.answer(key, request), check)
        except Retryable as fault:
            # an answer that says of itself that there was no room for the question
            note(reply=None, error=f"{TransportError.kind}: {fault}", usd=0.0)
            raise TransportError(f"{fault} (in a batch)") from None
        except ModelError as error:
            usd = 0.0 if isinstance(error, TransportError) else None
            note(reply=error.raw, error=f"{error.kind}: {error}", usd=usd)
            raise
        answer = reply._asdict()
        if shared:
            note_call(model, request, started, reply=reply.data, cached=True)
            return reply
        note(reply=answer.pop("data"), **answer)
        self.budget.spend(reply.usd)
        return reply


class _Desk:
    """Gathers the questions to one model, sends them in batches, and hands out the answers."""

    def __init__(self, model: HostedModel, engine: BatchEngine, notes: _Notes) -> None:
        assert model.batches is not None
        self.model, self.engine, self.notes = model, engine, notes
        self.batches: Batches = model.batches(model.client, model.api_base, model.path)
        self.asked: dict[str, tuple[dict[str, Any], asyncio.Future[Reply]]] = {}
        self.pending: dict[str, dict[str, Any]] = {}
        self.resume = (
            f"run.resume={'' if engine.folder is None else as_typed(engine.folder)}"
        )
        self._touched = 0.0
        self._work: asyncio.Task[None] | None = None

    async def answer(self, key: str, request: dict[str, Any]) -> Reply:
        """The answer to a request, which goes out with the next batch. Whoever asks the same shares
        the answer."""
        loop = asyncio.get_running_loop()
        if key not in self.asked:
            self.asked[key] = (request, loop.create_future())
            self.pending[key], self._touched = request, loop.time()
            if self._work is None or self._work.done():
                self._work = loop.create_task(self._rounds())
        try:
            # Whoever stops waiting must not take the answer from others that wait for
            # the same question.
            return await asyncio.shield(self.asked[key][1])
        finally:
            if not self._open(key):
                self.asked.pop(key, None)

    async def _rounds(self) -> None:
        loop = asyncio.get_running_loop()
        while self.pending:
            while (
                len(self.pending) < self.engine.size
                and (left := self._touched + QUIET - loop.time()) > 0
            ):
                await asyncio.sleep(left)
                for _ in range(10):  # whoever was kept from running has its turn first
                    await asyncio.sleep(0)
            keys = list(self.pending)[: self.engine.size]
            requests = {key: self.pending.pop(key) for key in keys}
            try:
                await self._round(requests)
            except Exception as error:  # as it is: whoever waits must hear of it
                self._fail(requests, error)
            # whoever has an answer notes its price, and may have another question
            for _ in range(10):
                await asyncio.sleep(0)

    async def _round(self, requests: dict[str, dict[str, Any]]) -> None:
        """Answer these requests: from the batches that the run already has, then by a new one."""
        # First what the run has already paid for: a run that was killed after it sent a
        # batch would else send and pay for it twice.
        counted = await self._of_earlier(requests)
        sent, later = {}, {}
        budget = self.engine.budget
        room = math.inf if budget.max_usd is None else budget.max_usd - budget.usd
        for key, request in requests.items():
            if not self._open(key):
                continue
            dear = 0.0 if budget.max_usd is None else self._at_most(request)
            try:
                # A batch cannot be called back once it is sent, so only as much goes
                # out as the budget is sure to pay for at the price of the dearest
                # answer.
                if dear > room and budget.usd < (budget.max_usd or 0):
                    later[key] = request
                    continue
                if key not in counted:
                    budget.take()
            except RunStopped as error:
                self._fail([key], error)
            else:
                sent[key], room = request, room - dear
        if later and not sent:
            what = (
                f"`engine.max_usd` is {budget.max_usd}, {budget.usd:.4f} USD were spent, and one"
                " more question may cost"
            )
            dear = min(map(self._at_most, later.values()))
            way = (
                "Raise it (engine.max_usd=X, or null for no limit) and rerun: what was judged is"
                " kept."
            )
            self._fail(later, BudgetExceeded(f"{what} {dear:.4f} USD. {way}"))
        elif later:
            count = f"{len(sent)} of {len(sent) + len(later)} questions"
            what = f"engine.max_usd={budget.max_usd:g} is sure to pay for {count}"
            say(f"  {what}; the others follow when it is known what these cost.")
            self.pending = later | self.pending
            self._touched = asyncio.get_running_loop().time()
        if sent:
            await self._collect(await self._submitted(sent), sent)

    async def _of_earlier(self, requests: Collection[str]) -> set[str]:
        """Hand out the answers of the batches that the run has already. What comes back are the
        questions of those that were noted and, as the process was killed, never sent: their calls
        are counted already.
        """
        counted: set[str] = set()
        for noted in list(self.notes.batches.values()):
            if noted.model != self.model.name or noted.keys.isdisjoint(requests):
                continue
            if noted.id is None and noted.taken:
                await self._looked_for(noted)
            if noted.id is not None or await self._found(noted):
                await self._collect(noted, requests)
            else:
                counted |= noted.keys
        return counted

    def _at_most(self, request: dict[str, Any]) -> float:
        """What a question may cost: as much as the dearest so far, or what its length and the
        longest answer would."""
        if self.engine.budget.dearest is not None:
            return self.engine.budget.dearest
        written = max(
            (
                n
                for name, n in request.items()
                if name.startswith("max_") and isinstance(n, int)
            ),
            default=0,
        )
        return SHARE * (
            self.model.price.usd(len(to_json(request)) // 3, written) or 0.0
        )

    def _open(self, key: str) -> bool:
        return key in self.asked and not self.asked[key][1].done()

    def _fail(self, keys: Iterable[str], error: Exception) -> None:
        for key in keys:
            if self._open(key):
                self._settle(key, error)

    def _settle(self, key: str, outcome: Reply | Exception) -> None:
        future = self.asked[key][1]
        if isinstance(outcome, Reply):
            future.set_result(outcome)
        else:
            future.set_exception(outcome)
            future.exception()  # it may be that nobody waits any more

    async def _submitted(self, requests: dict[str, dict[str, Any]]) -> _Noted:
        """Send one batch. Where it is not sure whether it arrived, it is looked for before it is
        sent again."""
        # Noted before it is sent, with a mark that goes with it: killed between the
        # two, the run can find the batch at the provider by its mark.
        mark = secrets.token_hex(6)
        noted = self.notes.batches[mark] = _Noted(
            self.model.name, mark, requests, time.time()
        )
        with self.notes:
            self.notes.note(
                model=noted.model, mark=mark, keys=list(requests), sent=noted.sent
            )
        named = {f"{key}-{mark}": request for key, request in requests.items()}
        for tried in range(self.engine.limits.retries + 1):
            try:
                if tried and await self._found(noted):
                    break
                async with asyncio.timeout(self.engine.limits.timeout):
                    with reading(None):
                        noted.id = await self.batches.submit(named, mark)
                break
            except Unnamed as error:
                noted.taken = True
                with self.notes:
                    self.notes.note(mark=mark, taken=True)
                say(
                    f"  a batch was taken, and {error}. It is looked for by its mark, {mark}."
                )
                await self._looked_for(noted)
                break
            except (Retryable, TimeoutError) as error:
                if tried == self.engine.limits.retries:
                    why = (
                        str(error)
                        or f"no answer within {self.engine.limits.timeout:g} s"
                    )
                    raise RunStopped(
                        f"A batch could not be sent: {why}. Rerun when the server answers."
                    ) from None
                await asyncio.sleep(min(30.0, self.engine.limits.backoff * 2**tried))
            except ModelError as error:
                # The provider refused the batch, which says nothing of any text in it.
                raise RunStopped(
                    f"A batch was refused: {error}\nNothing of it was asked; {self.resume}"
                    " sends it."
                ) from None
        with self.notes:
            self.notes.note(mark=mark, id=noted.id)
        sent = (
            f"batch {noted.id}: {len(requests)} questions to {self.model.name}, looked at every"
            f" {self.engine.poll:g} s"
        )
        say(f"  {sent}. If this process ends, {self.resume} asks for it again.")
        return noted

    async def _found(self, noted: _Noted) -> bool:
        """Whether the provider has the batch, of which no id was noted; then it is."""
        while True:
            try:
                found = await self._insisting(
                    noted,
                    lambda: self.batches.find(noted.mark, len(noted.keys), noted.sent),
                )
            except Unsettled:
                self._in_time(noted)
                await asyncio.sleep(self.engine.poll)
                continue
            if found is None:
                return False
            noted.id = found
            with self.notes:
                self.notes.note(mark=noted.mark, id=found)
            return True

    async def _looked_for(self, noted: _Noted) -> None:
        """Find a batch that the provider took. Raises RunStopped where its list does not show it:
        it is never sent a second time, as each time is paid for."""
        for tried in range(UNREACHED):
            if await self._found(noted):
                return
            if tried + 1 < UNREACHED:
                await asyncio.sleep(self.engine.poll)
        what = (
            "The provider took a batch under an id that it did not tell, and does not list it"
            f" (mark {noted.mark})"
        )
        way = f"It is not sent again, as that would be paid twice; {self.resume} looks for it again"
        where = BATCHES if self.engine.folder is None else self.engine.folder / BATCHES
        last = (
            f"If the provider's own pages show no such batch, delete the lines with {noted.mark} in"
            f" {where}"
        )
        raise RunStopped(f"{what}. {way}. {last}, and its questions are sent anew.")

    def _in_time(self, noted: _Noted) -> None:
        if time.time() - noted.sent > self.engine.wait:
            what = (
                f"batch {noted.id or noted.mark} has not ended {self.engine.wait:g} s after it was"
                " sent (engine.wait)"
            )
            way = (
                f"Nothing is lost and nothing is paid twice: {self.resume} asks for it again,"
                " engine.wait= waits longer"
            )
            raise RunStopped(f"{what}. {way}.")

    async def _collect(self, noted: _Noted, requests: Collection[str]) -> None:
        """Wait for the end of a batch and hand out what it answered."""
        assert noted.id is not None
        batch, fresh, answers = noted.id, not noted.closed, Answers({})
        try:
            word = await self._ended(noted, batch)
            answers = await self._insisting(
                noted, lambda: self.batches.answers(batch, noted.mark, len(noted.keys))
            )
            lost = answers.rest
        except BatchLost as error:
            word, lost = "lost", str(error)
        if fresh:
            with self.notes:
                self.notes.note(mark=noted.mark, closed=True)
            noted.closed = True
        keys = [key for key in requests if key in noted.keys and self._open(key)]
        self.model.client.answered |= any(
            answer.is_good for answer in answers.found.values()
        )
        missing = 0
        for key in keys:
            none = Answer(why=lost or f"the batch is {word} without an answer")
            answer = answers.found.get(f"{key}-{noted.mark}", none)
            outcome = self._outcome(answer, batch)
            missing += isinstance(outcome, TransportError)
            # Asked for again; a key that was not accepted may have been corrected since.
            if isinstance(outcome, TransportError | ConfigError) and not fresh:
                continue
            self._settle(key, outcome)
        if fresh and missing:
            what = f"batch {batch} ({word}): {missing} of {len(noted.keys)} questions got no answer"
            say(
                f"  {what}. What was answered is kept; {self.resume} asks for the rest."
            )

    async def _ended(self, noted: _Noted, batch: str) -> str:
        told = -1
        while not (
            state := await self._insisting(noted, lambda: self.batches.state(batch))
        ).ended:
            self._in_time(noted)
            if state.done > told >= 0:
                say(f"  batch {batch}: {state.done} of {len(noted.keys)} answered")
            told = state.done
            await asyncio.sleep(self.engine.poll)
        return state.word

    async def _insisting(self, noted: _Noted, ask: Callable[[], Awaitable[T]]) -> T:
        """What the provider says of a batch. A look that fails, or that shows something else than
        was asked for, is made again: an odd reply to it says nothing of the answers, which were
        paid for."""
        for tried in range(UNREACHED):
            try:
                async with asyncio.timeout(10 * self.engine.limits.timeout):
                    with reading(None):
                        return await ask()
            except BatchLost:
                raise
            except (Retryable, TimeoutError, ModelError) as error:
                why, cause = str(error) or "no answer", error.__cause__
                if tried + 1 < UNREACHED:
                    await asyncio.sleep(self.engine.poll)
        if isinstance(cause, Exception):
            raise TransportError(f"the batch could not be read: {why}") from cause
        what = f"Batch {noted.id or noted.mark} could not be looked at: {why}"
        raise RunStopped(
            f"{what}\nIt goes on, and is not sent again; {self.resume} asks for it again."
        )

    def _outcome(self, answer: Answer, batch: str) -> Reply | UndogmaticError:
        """What came of one request, as if it had been sent alone, at the price of a batch."""
        if not answer.status:
            return TransportError(f"batch {batch}: {answer.why}")
        if answer.why:
            raw = answer.body.decode("utf-8", errors="replace")
            return UnparseableAnswer(f"batch {batch}: {answer.why}", scrub(raw))
        try:
            reply = self.model.reply(
                self.model.client.understood(answer.status, {}, answer.body)
            )
        except Retryable as error:
            return TransportError(f"batch {batch}: {error}")
        except UndogmaticError as error:
            return error
        return reply._replace(usd=None if reply.usd is None else SHARE * reply.usd)
