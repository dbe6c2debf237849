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
        return sum(not one.low <= 0 <= one.high for one in self.differences.values())


def components(winner: ArrayLike, loser: ArrayLike, n: int) -> list[list[int]]:
    """List the sets of systems that are linked by choices, directly or over others; a ranking
    across two such sets says nothing."""
    a, b = _systems(winner, loser, n)
    links = sparse.coo_array((np.ones(a.size), (a, b)), shape=(n, n))
    count, component = connected_components(links, directed=False)
    return [np.flatnonzero(component == number).tolist() for number in range(count)]


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
    w = np.ones(a.size) if weights is None else checks.vector(weights, "weights")
    ordered = first is not None
    place = np.zeros(a.size)
    if first is not None:
        place = _place(checks.vector(first, "first"), a, b)
    n_sets = min(n_groups, MOST_GROUPS)
    set_of = rng.permutation(n_groups) % n_sets
    counted = _counted(np.stack([a, b, place + 1]), w, set_of[codes], n)

    design = _design(counted.kinds, n, ordered)
    counts = counted.all_together()
    start = np.append(_start(counted.kinds, counts, n), [0.0] * ordered)
    theta = _newton(design, counts.reshape(1, -1), start, n)[0]

    at_once = max(1, _AT_ONCE // n_sets)
    resampled = []
    for done in range(0, resamples, at_once):
        draws = counted.drawn(min(at_once, resamples - done), rng)
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
        times = rng.multinomial(n_sets, np.full(n_sets, 1 / n_sets), size=size)
        # Made-up choices weigh 1 on average and are drawn, too: fixed ones would make a system that
        # won throughout look certain of its strength.
        made_up = rng.gamma(self.made_up_weight, size=(size, n_made_up))
        return np.asarray(self.by_set.T @ times.T + self.by_made_up.T @ made_up.T).T


def _counted(choices: Array, weights: Array, sets: Index, n: int) -> _Counted:
    """Count choices, shape (3, n_choices), and the made-up ones beside them by kind."""
    n_choices = choices.shape[1]
    made_up = _made_up(choices[:2].astype(np.intp), n)
    n_made_up = made_up.shape[1]
    every = np.concatenate([choices.astype(np.intp), made_up], axis=1)
    # A kind as one number, because numbers are sorted much faster than columns are.
    numbers = (every[0] * n + every[1]) * 3 + every[2]
    distinct, kind_of = np.unique(numbers, return_inverse=True)
    kinds = np.stack([distinct // (3 * n), distinct // 3 % n, distinct % 3])
    n_kinds = distinct.size

    places = sets, kind_of[:n_choices]
    shape = int(sets.max()) + 1, n_kinds
    by_set = sparse.coo_array((weights, places), shape=shape)
    places = np.arange(n_made_up), kind_of[n_choices:]
    shape = n_made_up, n_kinds
    by_made_up = sparse.coo_array((np.ones(n_made_up), places), shape=shape)
    return _Counted(kinds, by_set.tocsr(), by_made_up.tocsr(), PRIOR * n / n_made_up)


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
    return tuple(
        (1 + ahead, n - behind) for ahead, behind in zip(n_better, n_worse, strict=True)
    )


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
    strengths = tuple(estimate(theta[k], sides[:, k], reach) for k in range(n))
    of_first = estimate(theta[n], sides[:, n], reach) if ordered else None
    pairs = list(combinations(range(n), 2))
    i, j = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    apart = deviations[:, i] - deviations[:, j]
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
    below = np.mean(np.maximum(-1 * deviations, 0) ** 2, axis=0)
    above = np.mean(np.maximum(1 * deviations, 0) ** 2, axis=0)
    # Each half holds about half of the resamples, so that its sum of squares counts twice; never 0,
    # as it is divided by.
    return np.stack([-np.sqrt(2 * below + tiny), np.sqrt(2 * above + tiny)])


def _made_up(compared: Index, n: int) -> Index:
    """Make up one choice in each direction of all pairs that were compared, shape (2, n_choices),
    without an order: their kinds (`_Counted`), shape (3, n_made_up)."""
    numbers = np.unique(compared.min(axis=0) * n + compared.max(axis=0))
    pairs = np.stack([numbers // n, numbers % n])
    both_ways = np.concatenate([pairs, pairs[::-1]], axis=1)
    order_not_said = np.ones(both_ways.shape[1], dtype=np.intp)
    return np.vstack([both_ways, order_not_said])


def _design(kinds: Index, n: int, ordered: bool) -> Array:
    """Tabulate what each kind of choice adds to the log odds of having been made: winner 1, loser
    -1, winner shown first 1."""
    rows = np.zeros((kinds.shape[1], n + ordered))
    rows[np.arange(len(rows)), kinds[0]] = 1
    rows[np.arange(len(rows)), kinds[1]] = -1
    if ordered:
        rows[:, n] = kinds[2] - 1
    return rows


def _start(kinds: Index, counts: Array, n: int) -> Array:
    """Compute the strengths without regard to the order, by choix; the mean is 0."""
    import choix

    wins = np.zeros((n, n))
    np.add.at(wins, (kinds[0], kinds[1]), counts)
    return np.asarray(choix.ilsr_pairwise_dense(wins), dtype=np.float64)


def _crossed(design: Array) -> sparse.csr_array:
    """Compute the outer product of each row of the design with itself, of which nearly all is 0,
    shape (n_kinds, p * p)."""
    p = design.shape[1]
    rows, columns = np.nonzero(design)
    places, products = [], []
    # A row has at most three values, so partners stand at most two places apart.
    for shift in range(-2, 3):
        here = np.arange(max(0, -shift), rows.size - max(0, shift))
        here = here[rows[here] == rows[here + shift]]
        row = rows[here]
        column = columns[here]
        partner = columns[here + shift]
        places.append(np.stack([row, column * p + partner]))
        products.append(design[row, column] * design[row, partner])
    values = np.concatenate(products), np.concatenate(places, axis=1)
    return sparse.coo_array(values, shape=(len(design), p * p)).tocsr()


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
    theta = np.tile(start, (len(counts), 1))
    for _ in range(60):
        chance = special.expit(theta @ design.T)
        surprise = counts * (1 - chance)
        slope = surprise @ design
        curvature = np.asarray((counts * chance * (1 - chance)) @ crossed)
        curve = curvature.reshape(-1, p, p) + fixed
        step = np.linalg.solve(curve, slope[:, :, None])[:, :, 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        # Far from the highest likelihood the curve is flat, and a whole step would leap over it.
        theta += step * np.minimum(1, _LONGEST_STEP / np.maximum(longest, _CONVERGED))
        if float(longest.max()) < _CONVERGED:
            break
    theta[:, :n] -= theta[:, :n].mean(axis=1, keepdims=True)
    return theta


def _place(shown: Array, a: Index, b: Index) -> Array:
    """Say who was shown first, shape (n_choices,): 1 the chosen one, -1 the other."""
    if np.any((shown != a) & (shown != b)):
        raise ValueError("`first` must hold one of the two systems of each choice.")
    return np.where(shown == a, 1.0, -1.0)


def _systems(winner: ArrayLike, loser: ArrayLike, n: int) -> tuple[Index, Index]:
    """Check that choices are between two of `n` systems, shape (n_choices,) each."""
    first, second = checks.paired_vectors(winner, loser, ("winner", "loser"))
    a = first.astype(np.intp)
    b = second.astype(np.intp)
    whole = (a == first) & (b == second)
    in_range = (a >= 0) & (b >= 0) & (a < n) & (b < n)
    if not np.all(whole & in_range & (a != b)):
        raise ValueError(
            f"`winner` and `loser` must be two different systems from 0 to {n - 1}."
        )
    return a, b
