"""Tests what an analysis has to tell: names, sentences, and the result that comes of them."""

from undogmatic.records.results import Finding, Told
from undogmatic.stats.estimate import Estimate


def test_a_telling_names_numbers_and_sentences_once() -> None:
    tell = Told("ab")
    share = Estimate(0.8, 0.7, 0.9)
    tell.number(share, "share")
    tell.number(3, "mean", "a b")
    tell.number(None, "absent")
    tell.say("share", share.values("share"), n=12)
    tell.say("analyses.failed", n=1)
    tell.draw("slope", "slope", left="a")
    result = tell.result(Finding("ab.holds"), "supported", headline="ab.share")
    assert result.metrics == {
        "ab.share": 0.8,
        "ab.share_low": 0.7,
        "ab.share_high": 0.9,
        "ab.mean.a_b": 3,
    }
    assert result.findings[0] == Finding(
        "ab.share", {"share": 0.8, "interval": (0.7, 0.9), "n": 12}
    )
    assert result.findings[1].key == "analyses.failed"
    assert result.drawings[0].data == {"left": "a"}
    assert (result.standing, result.headline) == ("supported", "ab.share")
