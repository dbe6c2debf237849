"""Statistics as pure functions on arrays: nothing here reads a file, a config or global random
state.

What holds in all of them is said here once. Arrays have shape (n,) unless said otherwise, and are
finite; these arguments are the same everywhere:

level         confidence level of an interval, in (0, 1), of both ends together: each errs with half
              of the rest
groups        what belongs together, a label per item: whole groups are the independent units,
              which are counted, drawn and left out; None takes each item for itself
rng           the source of randomness; intervals by leaving units out use it beyond
              `jackknife.MOST_LEFT_OUT` of them
bounds, span  lowest and highest value (or error) that could have occurred, such as the ends of the
              scale; infinite where not known. Give them: only they say anything where nearly all
              values are equal (`means.interval`)
margin, sign, alpha, power
              as of `claims.claim`: alpha is the share of errors of the interval and of each
              one-sided test, power that for which the number of units needed is told

A ValueError names the argument that holds NaN, infinity or too few values, whose length is not that
of what it is matched with, that is no share in (0, 1) where one is asked for, or a word that is
none of the options.

The modules are imported by name (`from undogmatic.stats import paired`), so that none costs import
time unasked.
"""
