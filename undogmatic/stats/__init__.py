"""Statistics as pure functions on arrays: nothing here reads a file, a config or global random state.

estimate      the one noun for a number with its interval: told as metrics, values, a row; held against a margin
means         the interval of a mean, over independent values or groups, and one that holds whenever one looks
claims        what an interval allows to say against a margin; what a paired design can detect, how many units settle it
compare       every two of several things by the mean of their differences, with Holm's correction
paired        differences of matched pairs: tests, shares, effect sizes; failed judgments of one side
typical       the middle of differences: median and Hodges-Lehmann, with intervals
proportion    a share of items with its interval, what was promised of it; coverage and width of intervals
limits        shares, areas, orders and alphas with the limits that failed judgments leave of them
ranking       does the score separate and order texts; attacks on it
agreement     do two or more judges, a judge and people, or one judge twice, say the same
coefficients  intervals of correlations, kappa and alpha
jackknife     the interval of any coefficient between -1 and 1, and of what is nearly a mean, by leaving units out;
              drawing with replacement in linear memory
selection     what choosing the best of many does to its figure; places in a ranking; letters for what differs
confound      how much of a difference text length, or another control, could explain
surface       what the surface of texts says of a score: kernels and predictions from other groups; copies among texts
calibration   map raw scores onto the scale; is a stated confidence honest
conformal     intervals with a coverage guarantee, over all items or per group
escalation    how much a cheap judge may decide alone
uncertainty   a probability over levels, also from the odds of first tokens; one formula per judge style
review        risk and coverage, error caught by review: does the doubt know where the judge errs
beyond_score  what a doubt knows of the errors that the score does not say
variance      where the variance of scores comes from, and how many scores to average
few_labels    means and differences corrected with a few human labels; how many are needed
quality       how well a judge did on one text, pair or several: the numbers that an optimiser raises
checks        one wording for what an array argument must be

What holds in all of them is said here once. Arrays have shape (n,) unless said otherwise, and are finite; these
arguments are the same everywhere:

level         confidence level of an interval, in (0, 1), of both ends together: each errs with half of the rest
groups        what belongs together, a label per item: whole groups are the independent units, which are counted, drawn
              and left out; None takes each item for itself
rng           the source of randomness; intervals by leaving units out use it beyond `jackknife.MOST_LEFT_OUT` of them
bounds, span  lowest and highest value (or error) that could have occurred, such as the ends of the scale; infinite
              where not known. Give them: only they say anything where nearly all values are equal (`means.interval`)
margin, sign, alpha, power  as of `claims.claim`: alpha is the share of errors of the interval and of each one-sided
              test, power that for which the number of units needed is told

A ValueError names the argument that holds NaN, infinity or too few values, whose length is not that of what it is
matched with, that is no share in (0, 1) where one is asked for, or a word that is none of the options.

The modules are imported by name (`from undogmatic.stats import paired`), so that none costs import time unasked.
"""
