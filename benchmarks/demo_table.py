"""Makes `data/check/demo.csv`, the example of `undogmatic demo`: replies of a shop, three people,
three judges.

The truth is known, since this program made it: a reply is right if its sum follows from the price
and the count in the question. Right replies give a reason a little more often than wrong ones, so
that counting words is worth something.

    python -m benchmarks.demo_table > data/check/demo.csv
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator

import numpy as np

N = 150
OBJECTS = "lamps chairs kettles blankets mirrors shelves cushions baskets candles frames clocks trays".split()
OPENINGS = (
    "Hello, I would like {n} {things} at {price} euros each. What do I owe you?",
    "I am looking at your {things}, {price} euros a piece. What would {n} of them cost me?",
    "Could you send me {n} {things}? Your page says {price} euros each. What is the total?",
    "We need {n} {things} for the office, listed at {price} euros. How much is that together?",
    "My basket has {n} {things} at {price} euros each. Which sum will you charge?",
)
GREETINGS = (
    "Thank you for writing to us.",
    "Good morning.",
    "Thanks for your patience.",
    "Of course, gladly.",
    "Dear customer,",
)
REASONS = (
    "That follows from the price on our page.",
    "We multiply the price by the number of pieces.",
    "The price is per piece.",
)
CLOSINGS = (
    "Delivery takes three days.",
    "Tell us if anything else is unclear.",
    "Shipping is free this month.",
    "Have a good day.",
)
SUMS = (
    "You would pay {total} euros.",
    "The total comes to {total} euros.",
    "That makes {total} euros in all.",
)


def rows(seed: int = 24) -> Iterator[dict[str, object]]:
    """The rows of the table."""
    rng = np.random.default_rng(seed)

    def one(options: tuple[str, ...]) -> str:
        return str(options[rng.integers(len(options))])

    def said(right: bool, error: float) -> str:
        return "pass" if right != (rng.random() < error) else "fail"

    for item in range(1, N + 1):
        n, price, things = (
            int(rng.integers(3, 13)),
            int(rng.integers(4, 60)),
            OBJECTS[rng.integers(len(OBJECTS))],
        )
        right = rng.random() < 0.5
        wrong = n * price + int(rng.choice([-10, -price, price, 10, 2 * price, 9]))
        gives_reason = rng.random() < (0.68 if right else 0.32)
        reply = [one(GREETINGS), one(SUMS).format(total=n * price if right else wrong)]
        reply += [one(REASONS)] * gives_reason + [one(CLOSINGS)]
        question = one(OPENINGS).format(n=n, things=things, price=price)
        yield {
            "item": f"reply-{item:03d}",
            "text": f"{question}\n{' '.join(reply)}",
            **{
                f"human_{rater}": said(right, error)
                for rater, error in (("ana", 0.03), ("ben", 0.06), ("eva", 0.05))
            },
            "judge_careful": said(right, 0.08),
            "judge_keyword": "pass" if gives_reason else "fail",
            "judge_generous": "pass" if rng.random() < 0.96 else "fail",
            "truth": "pass" if right else "fail",
        }


if __name__ == "__main__":
    table = list(rows())
    writer = csv.DictWriter(sys.stdout, list(table[0])[:-1], lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {name: cell for name, cell in row.items() if name != "truth"} for row in table
    )
