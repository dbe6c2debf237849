"""Makes what a gate says of a trust card the outcome of a test:
`@pytest.mark.judge(card="card.json")`.

The test runs if the card passes. It fails where the card fails or is undecided, and is an error
where the card is void or broken; xfail does not hide that. pytest loads this module wherever
undogmatic is installed, so it imports nothing of it before a marked test runs.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

MARK = (
    "judge(card, config=None, data=(), **settings): run the test only if the trust card of a judge"
    " passes a gate"
)
PROPERTY = "undogmatic_gate"
_OUTCOME = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that lists cards."""
    about = "list the trust cards that tests were held to, and what came of each"
    parser.getgroup("undogmatic").addoption(
        "--undogmatic-cards", action="store_true", help=about
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", MARK)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Hold the cards of a test against their gates; one that is void ends it here, as an error."""
    for mark in item.iter_markers("judge"):
        outcome, message = _gate(item, mark)
        item.user_properties.append(
            (PROPERTY, [str(mark.kwargs.get("card")), outcome, message])
        )
        if outcome != "pass":
            item.stash[_OUTCOME] = f"{outcome}: {message}"
        if outcome == "void":
            pytest.fail(item.stash[_OUTCOME], pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Fail in place of the test where a card does not pass."""
    if _OUTCOME in item.stash:
        pytest.fail(item.stash[_OUTCOME], pytrace=False)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """What a gate stopped has failed, whatever xfail says of the test."""
    report: pytest.TestReport = yield
    stopped = item.stash.get(_OUTCOME, None)
    if (
        stopped is not None
        and call.excinfo is not None
        and str(call.excinfo.value) == stopped
    ):
        report.outcome, report.longrepr = "failed", stopped
        report.__dict__.pop("wasxfail", None)
    return report


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """List the cards, each once."""
    if not config.getoption("--undogmatic-cards"):
        return
    lines: dict[tuple[str, str, str], int] = {}
    for report in _reports(terminalreporter):
        for name, value in report.user_properties:
            if name == PROPERTY:
                card, outcome, message = map(str, value)  # type: ignore[call-overload]
                lines[card, outcome, message] = (
                    lines.get((card, outcome, message), 0) + 1
                )
    terminalreporter.section("trust cards")
    for (card, outcome, message), tests in lines.items():
        terminalreporter.line(
            f"{outcome:<9}  {card} ({tests} {'test' if tests == 1 else 'tests'}): {message}"
        )
    if not lines:
        terminalreporter.line("no test is marked with judge")


def _reports(terminalreporter: pytest.TerminalReporter) -> Iterator[pytest.TestReport]:
    """The last report of each test, which has all that was noted of it."""
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport) and report.when == "teardown":
                yield report


def _gate(item: pytest.Item, mark: pytest.Mark) -> tuple[str, str]:
    """What came of a gate, and the sentences that say so."""
    from undogmatic.errors import UndogmaticError
    from undogmatic.examinations import gate
    from undogmatic.report import gate as shown
    from undogmatic.report.check import words_of

    told = dict(mark.kwargs)
    if mark.args or not isinstance(told.get("card"), str | Path):
        return (
            "void",
            f'write @pytest.mark.judge(card="card.json", config="{gate.CONFIG}")',
        )
    card = _place(item, told.pop("card"))
    config = _place(item, told.pop("config", None) or gate.CONFIG)
    data = [_place(item, path) for path in told.pop("data", ())]
    try:
        result, language = gate.examine(card, config, told, data)
    except (UndogmaticError, OSError) as error:
        result, language = gate.broken(card.name, error), "en"
    words = words_of(language, result.units.get(language), result.texts)
    wrong = [
        sentence
        for outcome, sentence in shown.lines(result, words)
        if outcome != "pass"
    ]
    return result.outcome, " ".join([shown.first_line(result, words), *wrong])


def _place(item: pytest.Item, path: str | Path) -> Path:
    """A path beside the test's file; where there is none, below the root of the tests."""
    beside = item.path.parent / path
    return beside if beside.exists() else item.config.rootpath / path
