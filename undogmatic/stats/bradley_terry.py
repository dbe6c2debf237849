"""Ranks systems from choices between two of them: strengths, differences and ranks, with intervals
over groups.

The chance that one system is chosen over another depends on the difference of their strengths alone
(in log odds), and, where it is known which output was shown first, on that place too, so that a
taste for the first place is not taken for merit. Choices that belong together (both orders of an
item, several items of one text) are drawn together.

Every compared pair gets a small number of made-up choices in both directions (PRIOR in all per
system), so that a system that won or lost throughout has a strength that is large, not infinite.
Each resample draws their weights anew, so that twenty wins out of twenty are not told as certain.

References:
    Bradley and Terry (1952), Rank analysis of incomplete block designs.
    doi:10.1093/biomet/39.3-4.324 Maystre and Grossglauser (2015), Fast and accurate inference of
    Plackett-Luce models (the library choix) Davidson and Beaver (1977), doi:10.2307/2529467, for
    the term of the order Rubin (1981), The Bayesian bootstrap. doi:10.1214/aos/1176345338
"""

from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, special
from scipy.sparse.csgraph import connected_components

from undogmatic.stats import checks, means
from undogmatic.stats.checks import Array, Groups, Index, Rng
from undogmatic.stats.estimate import Estimate

# Half a win and half a defeat is Jeffreys' choice for one share; it hardly moves a
# system that was chosen and passed over a few times.
PRIOR = 0.5
"""Made-up wins, and as many defeats, of each system, shared among those that it was compared with.
"""
RESAMPLES = 400
MOST_GROUPS = 2000
"""More groups than these are drawn as so many random sets of them."""
_AT_ONCE = 2**21
_LONGEST_STEP = 2.0
_CONVERGED = 1e-8


class BradleyTerry(NamedTuple):
    """Everything about systems 0 to n - 1, in log odds.

    `strengths` are against the average of these systems. `differences` are of every two (i, j), i <
    j, i minus j, with limits that hold for all pairs together. `ranks` are the best and worst
    place, 1 the strongest, that those leave open. `first` is what being shown first adds; None
    where the order was not given.
    """

    strengths: tuple[Estimate, ...]
    differences: dict[tuple[int, int], Estimate]
    ranks: tuple[tuple[int, int], ...]
    first: Estimate | None

    @property
    def separable(self) -> int:
        """The number of pairs whose difference is not 0."""
        differences = self.differences.values()
        return sum(not one.low <= 0 <= one.high for one in differences)


def components(winner: ArrayLike, loser: ArrayLike, n: int) -> list[list[int]]:
    """List the sets of systems that are linked by choices, directly or over others; a ranking
    across two such sets says nothing."""
    a, b = _systems(winner, loser, n)
    choices = np.ones(a.size)
    links = sparse.coo_array((choices, (a, b)), shape=(n, n))
    count, component = connected_components(links, directed=False)
    sets = [np.flatnonzero(component == number) for number in range(count)]
    return [systems.tolist() for systems in sets]


def fit(
    winner: ArrayLike,
    loser: ArrayLike,
    n: int,
    rng: Rng,
    *,
    first: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    groups: Groups = None,
    level: float = 0.95,
    resamples: int = RESAMPLES,
) -> BradleyTerry:
    """Fit strengths of `n` systems to choices without ties; ties are for the caller to count.

    Limits lie a multiple of the standard deviation over resamples, taken below and above apart,
    from the strength: the quantile of t for the number of groups; for differences, more as far as
    the largest deviation of all pairs is wider.

    Args:
        winner, loser: Chosen and other system of each choice, 0 to n - 1, shape (n_choices,).
        first: The system that was shown first; None leaves the order out of account.
        weights: How much a choice counts, such as 1/2 for each of the two orders; None is 1.
        groups: What belongs together, one label per choice; at least two.
    Raises:
        ValueError: If systems are not linked (`components`), or an argument is not as said above.
    """
    checks.share(level, "level")
    a, b = _systems(winner, loser, n)
    linked = components(a, b, n)
    # The scales of two such sets have nothing in common: any number could be added to
    # all strengths of one of them.
    if len(linked) > 1:
        raise ValueError(
            f"The systems fall into sets that were never compared: {linked}."
        )
    codes = checks.groups(groups, a.size, 2)
    n_groups = int(codes.max()) + 1
    w = np.ones(a.size)
    if weights is not None:
        w = checks.vector(weights, "weights")
    ordered = first is not None
    place = np.zeros(a.size)
    if first is not None:
        place = _place(checks.vector(first, "first"), a, b)
    n_sets = min(n_groups, MOST_GROUPS)
    # In a random order, as groups that follow each other may be alike; the remainder
    # makes sets that differ by one group at most.
    set_of = rng.permutation(n_groups) % n_sets
    choices = np.stack([a, b, place + 1])
    counted = _counted(choices, w, set_of[codes], n)

    design = _design(counted.kinds, n, ordered)
    counts = counted.all_together()
    without_order = _start(counted.kinds, counts, n)
    start = np.append(without_order, [0.0] * ordered)
    [theta] = _newton(design, counts.reshape(1, -1), start, n)

    # Resamples are drawn by parts, because all of them at once fill the memory.
    at_once = max(1, _AT_ONCE // n_sets)
    resampled = []
    for done in range(0, resamples, at_once):
        n_draws = min(at_once, resamples - done)
        draws = counted.drawn(n_draws, rng)
        # Each resample begins from the strengths of all choices, which are near its
        # own, so that few steps are needed.
        resampled.append(_newton(design, draws, theta, n))
    deviations = np.concatenate(resampled) - theta
    return _with_limits(theta, deviations, n, ordered, n_groups, a.size, level)


class _Counted(NamedTuple):
    """Choices by their kinds, as choices of one kind say the same.

    A kind is a winner, a loser, and who of them was shown first (0: the loser, 1: not said, 2: the
    winner): `kinds` has the shape (3, n_kinds). `by_set` and `by_made_up` count what each set of
    groups, and each made-up choice, adds to them, shape (n_sets, n_kinds) and (n_made_up, n_kinds).
    """

    kinds: Index
    by_set: sparse.csr_array
    by_made_up: sparse.csr_array
    made_up_weight: float

    def all_together(self) -> Array:
        """Count each kind among all choices, shape (n_kinds,)."""
        made_up = self.made_up_weight * self.by_made_up.sum(axis=0)
        return np.asarray(self.by_set.sum(axis=0) + made_up)

    def drawn(self, size: int, rng: Rng) -> Array:
        """Draw sets anew, and count each kind among what was drawn, shape (size, n_kinds)."""
        n_sets = self.by_set.shape[0]
        n_made_up = self.by_made_up.shape[0]
        even = np.full(n_sets, 1 / n_sets)
        times = rng.multinomial(n_sets, even, size=size)
        # Made-up choices weigh 1 on average and are drawn, too: fixed ones would make a system that
        # won throughout look certain of its strength.
        made_up = rng.gamma(self.made_up_weight, size=(size, n_made_up))
        of_choices = self.by_set.T @ times.T
        of_made_up = self.by_made_up.T @ made_up.T
        return np.asarray(of_choices + of_made_up).T


def _counted(choices: Array, weights: Array, sets: Index, n: int) -> _Counted:
    """Count choices, shape (3, n_choices), and the made-up ones beside them by kind."""
    made = choices.astype(np.intp)
    n_choices = made.shape[1]
    made_up = _made_up(made[:2], n)
    n_made_up = made_up.shape[1]
    winner, loser, order = np.concatenate([made, made_up], axis=1)
    # A kind as one number, because numbers are sorted much faster than columns are.
    pair = winner * n + loser
    distinct, kind_of = np.unique(pair * 3 + order, return_inverse=True)
    pair_of_kind, order_of_kind = np.divmod(distinct, 3)
    winner_of_kind, loser_of_kind = np.divmod(pair_of_kind, n)
    kinds = np.stack([winner_of_kind, loser_of_kind, order_of_kind])
    n_kinds = distinct.size

    places = sets, kind_of[:n_choices]
    shape = int(sets.max()) + 1, n_kinds
    by_set = sparse.coo_array((weights, places), shape=shape)
    places = np.arange(n_made_up), kind_of[n_choices:]
    shape = n_made_up, n_kinds
    one_each = np.ones(n_made_up)
    by_made_up = sparse.coo_array((one_each, places), shape=shape)
    # PRIOR is what a system gets on average, whatever the number of pairs.
    made_up_weight = PRIOR * n / n_made_up
    return _Counted(kinds, by_set.tocsr(), by_made_up.tocsr(), made_up_weight)


def ranks(
    differences: Mapping[tuple[int, int], Estimate], n: int
) -> tuple[tuple[int, int], ...]:
    """Find the best and worst place of each of `n` systems that the differences of every two leave
    open; 1 is the strongest.

    They hold together as far as the limits of the differences do.
    """
    n_better = [0] * n
    n_worse = [0] * n
    # A system's place is only as sure as the differences that separate it from others;
    # a rank by its strength alone would tell a first place apart from a second where
    # nothing does.
    for (one, other), difference in differences.items():
        if difference.low > 0:
            n_better[other] += 1
            n_worse[one] += 1
        elif difference.high < 0:
            n_better[one] += 1
            n_worse[other] += 1
    best = [1 + ahead for ahead in n_better]
    worst = [n - behind for behind in n_worse]
    return tuple(zip(best, worst, strict=True))


def _with_limits(
    theta: Array,
    deviations: Array,
    n: int,
    ordered: bool,
    n_groups: int,
    n_rows: int,
    level: float,
) -> BradleyTerry:
    """Put limits to strengths, shape (n_parameters,), from the deviations of resamples, shape
    (n_resamples, n_parameters)."""
    # The deviations follow the number of groups and not that of choices: few groups show their own
    # spread badly, which Student's quantile makes up for.
    reach = means.t_quantile(n_groups - 1, level)

    def estimate(value: float, ends: Array, times: float) -> Estimate:
        low, high = (value + times * ends).tolist()
        return Estimate(float(value), low, high, level, n_groups, n_rows)

    sides = _sides(deviations)
    parameters = [
        estimate(value, ends, reach) for value, ends in zip(theta, sides.T, strict=True)
    ]
    strengths = tuple(parameters[:n])
    of_first = parameters[n] if ordered else None
    pairs = list(combinations(range(n), 2))
    # A single system makes no pair, and an empty list has no second dimension.
    one_of, other_of = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    apart = deviations[:, one_of] - deviations[:, other_of]
    sides_of_pairs = _sides(apart)
    # There is but one pair of two systems, so that nothing has to hold together.
    wider = _wider_for_all(apart, sides_of_pairs, level) if n > 2 else 1.0
    differences = {}
    for k, (one, other) in enumerate(pairs):
        difference = theta[one] - theta[other]
        limits = estimate(difference, sides_of_pairs[:, k], reach * wider)
        differences[one, other] = limits
    return BradleyTerry(strengths, differences, ranks(differences, n), of_first)


def _wider_for_all(apart: Array, sides: Array, level: float) -> float:
    """Say by what the limits of single pairs are multiplied so that those of all pairs hold
    together.

    They do where they hold the largest deviation of any pair, each in units of its side. How much
    farther that lies than the deviation of one pair is asked of the resamples; Student's quantile
    keeps few groups honest.

    Args:
        apart: Deviations of the differences, shape (n_resamples, n_pairs).
        sides: Their spread (`_sides`), shape (2, n_pairs).
    """
    in_sides = apart / np.where(apart < 0, *sides)
    largest_of_each = np.max(in_sides, axis=1, initial=0)
    largest = float(np.quantile(largest_of_each, level))
    # Never narrower than a single interval: of few resamples the largest deviation may by chance
    # be a small one.
    return max(1.0, largest / means.normal_quantile(level))


def _sides(deviations: Array) -> Array:
    """Measure the spread below and above, as signed standard deviations of the two halves of a
    split normal, shape (2, n)."""
    tiny = np.finfo(np.float64).tiny
    too_low = np.maximum(-1 * deviations, 0)
    too_high = np.maximum(1 * deviations, 0)
    # Each half holds about half of the resamples, so that its sum of squares counts twice; never 0,
    # as it is divided by.
    below = np.sqrt(2 * np.mean(too_low**2, axis=0) + tiny)
    above = np.sqrt(2 * np.mean(too_high**2, axis=0) + tiny)
    return np.stack([-below, above])


def _made_up(compared: Index, n: int) -> Index:
    """Make up one choice in each direction of all pairs that were compared, shape (2, n_choices),
    without an order: their kinds (`_Counted`), shape (3, n_made_up)."""
    lower = compared.min(axis=0)
    higher = compared.max(axis=0)
    numbers = np.unique(lower * n + higher)
    pairs = np.stack([numbers // n, numbers % n])
    both_ways = np.concatenate([pairs, pairs[::-1]], axis=1)
    order_not_said = np.ones(both_ways.shape[1], dtype=np.intp)
    return np.vstack([both_ways, order_not_said])


def _design(kinds: Index, n: int, ordered: bool) -> Array:
    """Tabulate what each kind of choice adds to the log odds of having been made: winner 1, loser
    -1, winner shown first 1."""
    winner, loser, order = kinds
    rows = np.zeros((winner.size, n + ordered))
    every_row = np.arange(winner.size)
    rows[every_row, winner] = 1
    rows[every_row, loser] = -1
    if ordered:
        rows[:, n] = order - 1
    return rows


def _start(kinds: Index, counts: Array, n: int) -> Array:
    """Compute the strengths without regard to the order, by choix; the mean is 0."""
    import choix

    winner, loser, _ = kinds
    wins = np.zeros((n, n))
    # `wins[winner, loser] += counts` would add once where a pair stands twice: with both orders.
    np.add.at(wins, (winner, loser), counts)
    strengths = choix.ilsr_pairwise_dense(wins)
    return np.asarray(strengths, dtype=np.float64)


def _crossed(design: Array) -> sparse.csr_array:
    """Compute the outer product of each row of the design with itself, of which nearly all is 0,
    shape (n_kinds, p * p)."""
    p = design.shape[1]
    rows, columns = np.nonzero(design)
    places, products = [], []
    # A row has at most three values, so partners stand at most two places apart.
    for shift in range(-2, 3):
        start = max(0, -shift)
        end = rows.size - max(0, shift)
        here = np.arange(start, end)
        in_same_row = rows[here] == rows[here + shift]
        here = here[in_same_row]
        row = rows[here]
        column = columns[here]
        partner = columns[here + shift]
        place = column * p + partner
        places.append(np.stack([row, place]))
        products.append(design[row, column] * design[row, partner])
    values = np.concatenate(products), np.concatenate(places, axis=1)
    shape = len(design), p * p
    return sparse.coo_array(values, shape=shape).tocsr()


def _newton(design: Array, counts: Array, start: Array, n: int) -> Array:
    """Find the strengths of highest likelihood for each row of `counts`, shape (n_draws,
    n_parameters); their mean is 0."""
    p = design.shape[1]
    crossed = _crossed(design)
    fixed = np.zeros((p, p))
    fixed[:n, :n] = 1 / n  # the mean of the strengths is not in the data
    if p > n:
        # Where one place was always shown first, the order is not in the data either.
        fixed[n, n] = 1e-6
    n_draws = len(counts)
    theta = np.tile(start, (n_draws, 1))
    for _ in range(60):
        chance = special.expit(theta @ design.T)
        surprise = counts * (1 - chance)
        slope = surprise @ design
        variance = counts * chance * (1 - chance)
        curvature = np.asarray(variance @ crossed)
        curve = curvature.reshape(-1, p, p) + fixed
        # NumPy 2 takes a right side of two dimensions for one matrix, not for a vector per draw.
        solved = np.linalg.solve(curve, slope[:, :, None])
        step = solved[:, :, 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        # Far from the highest likelihood the curve is flat, and a whole step would leap over it.
        shorter = _LONGEST_STEP / np.maximum(longest, _CONVERGED)
        theta += step * np.minimum(1, shorter)
        if float(longest.max()) < _CONVERGED:
            break
    strengths = theta[:, :n]
    strengths -= strengths.mean(axis=1, keepdims=True)
    return theta


def _place(shown: Array, a: Index, b: Index) -> Array:
    """Say who was shown first, shape (n_choices,): 1 the chosen one, -1 the other."""
    other = (shown != a) & (shown != b)
    if other.any():
        raise ValueError("`first` must hold one of the two systems of each choice.")
    return np.where(shown == a, 1.0, -1.0)


def _systems(winner: ArrayLike, loser: ArrayLike, n: int) -> tuple[Index, Index]:
    """Check that choices are between two of `n` systems, shape (n_choices,) each."""
    first, second = checks.paired_vectors(winner, loser, ("winner", "loser"))
    a = first.astype(np.intp)
    b = second.astype(np.intp)
    whole = (a == first) & (b == second)
    a_in_range = (a >= 0) & (a < n)
    b_in_range = (b >= 0) & (b < n)
    different = a != b
    if not np.all(whole & a_in_range & b_in_range & different):
        raise ValueError(
            f"`winner` and `loser` must be two different systems from 0 to {n - 1}."
        )
    return a, b
