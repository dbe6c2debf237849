"""The order of asking has nothing to do with file order or condition, keeps pairs together and
never changes."""

import numpy as np

from undogmatic.records.records import turns


def test_every_item_has_one_turn_and_pairs_stay_together() -> None:
    ids = [f"{k}{side}" for k in range(50) for side in "ab"] + [
        f"alone {k}" for k in range(7)
    ]
    pairs: list[str | None] = [*(str(k) for k in range(50) for _ in "ab"), *[None] * 7]
    order = turns(ids, pairs)
    assert sorted(order) == list(range(107))
    places = {
        pair: [n for n, k in enumerate(order) if pairs[k] == pair]
        for pair in set(pairs) - {None}
    }
    assert all(abs(first - second) == 1 for first, second in places.values())


def test_which_side_of_a_pair_comes_first_is_a_coin() -> None:
    ids = [f"{k}{side}" for k in range(1000) for side in ("imitation", "explanation")]
    order = turns(ids, [str(k // 2) for k in range(2000)])
    place = np.empty(2000)
    place[order] = np.arange(2000)
    assert 440 < int(np.sum(place[0::2] < place[1::2])) < 560
    assert abs(np.corrcoef(place, np.arange(2000))[0, 1]) < 0.1


def test_the_order_does_not_depend_on_the_file() -> None:
    ids = [f"t{k}" for k in range(30)]
    forwards = [ids[k] for k in turns(ids, [None] * 30)]
    turned = ids[::-1]
    assert [turned[k] for k in turns(turned, [None] * 30)] == forwards
    assert not len(turns([], []))
