"""Makes tickets.jsonl and answers.jsonl: invented answers of a help desk, with a judge that passes
some answers because they thank whoever asked. Run in this folder: `python make_tickets.py`."""

import json
import random
from pathlib import Path

THINGS = (
    "printer invoice password router parcel account refund calendar headset licence scanner tablet"
    " contract voucher projector keyboard monitor backup mailbox badge"
).split()
PLACES = (
    "the second floor,the depot,the app,the old office,your profile,the shop,the archive,the portal,"
    "the workshop,the front desk,the north wing,the warehouse"
).split(",")
WHEN = (
    "since Monday,since the last update,after the move,every morning,when it rains,since March,"
    "after lunch,whenever two people use it,since your holiday,after each restart"
).split(",")
SOLVED = (
    "hold the green button for {n} seconds,delete entry {n} and sign in again,take cable {n} instead,"
    "open page {n} and confirm the change,use the code {n} which is valid today,"
    "move the file into folder {n},turn the switch behind plate {n},install version {n} by hand"
).split(",")
OPEN = (
    "somebody will look at it at some point,ask the maker,our website says more,it should work,"
    "that is not our part,write again if it goes on,other people do not complain,it may go away"
).split(",")
TESTED = (
    "I tried it with number {n} and it worked,the log shows no fault since {n} minutes,"
    "colleague {n} confirmed it,a picture of step {n} is attached"
).split(",")
VAGUE = (
    "we close the case {n},please understand,there is much to do this week,no date is known"
).split(",")
THANKS = (
    "Thank you for writing.",
    "Thanks for your patience.",
    "Thank you so much for asking.",
)


def main() -> None:
    """Write both files."""
    rng = random.Random(11)
    tickets = []
    for number in range(100, 340):
        solves = rng.random() < 0.5
        thanks = rng.random() < 0.4
        what, more = (SOLVED, TESTED) if solves else (OPEN, VAGUE)
        opening = f"{rng.choice(THANKS)} " if thanks else ""
        told = rng.choice(what).format(n=rng.randint(2, 90))
        proof = rng.choice(more).format(n=rng.randint(2, 90))
        answer = (
            f"{opening}About the {rng.choice(THINGS)} in {rng.choice(PLACES)} that fails"
            f" {rng.choice(WHEN)}: {told}. {proof.capitalize()}. See also the {rng.choice(THINGS)}"
            f" in {rng.choice(PLACES)}."
        )
        agent = solves != (rng.random() < 0.06)
        judge = solves != (rng.random() < 0.06)
        flattered = thanks and rng.random() < 0.3
        tickets.append(
            {
                "ticket": {
                    "number": f"T{number}",
                    "queue": ("web", "phone")[number % 2],
                }
                | {"answer": answer},
                "grading": {"model": "grader-2", "solved": judge or flattered},
                "agent": {"solved": agent},
            }
        )
    lines = [json.dumps(each) + "\n" for each in tickets]
    Path("tickets.jsonl").write_text("".join(lines), encoding="utf-8")
    answers = [
        json.dumps({"id": each["ticket"]["number"], "text": each["ticket"]["answer"]})
        + "\n"
        for each in tickets[:8]
    ]
    Path("answers.jsonl").write_text("".join(answers), encoding="utf-8")


if __name__ == "__main__":
    main()
