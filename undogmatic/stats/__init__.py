"""Statistics as pure functions on arrays: nothing here reads a file, a config or global random state.

paired        differences of matched pairs: tests, effect sizes, bootstrap intervals
means         the interval of a mean, over independent values or groups
claims        what an interval allows to say against a margin, and how many units would settle it
signedrank    the exact null distribution of the signed-rank statistic
power         what a paired design of this size can and cannot detect
confound      how much of a difference text length could explain
agreement     do two or more judges, or a judge and people, say the same
coefficients  intervals of correlations, kappa and alpha
jackknife     the interval of any coefficient between -1 and 1
ranking       does the score separate and order texts; attacks on it
calibration   map raw scores onto the scale; is a stated confidence honest
distribution  a probability over levels: entropy, interval, a cut normal
repeat        the same judge on the same items, twice
proportion    a share of items with its interval
uncertainty   one formula per judge style, the rules that call an expensive judge, a panel's sum
conformal     intervals with a coverage guarantee, over all items or per group
intervals     coverage, width and interval score of any intervals
selective     risk-coverage curves and their area: does the uncertainty know where the judge errs
review        error caught by review budget: guided, random, oracle
beyond_score  what a doubt knows of the errors that the score does not say
promise       does a share keep what was promised of it
ordering      items in the order of their uncertainty; shared by selective and review
variance      where the variance of scores comes from, and how many scores to average
sequential    a mean with an interval that holds whenever one looks or stops
few_labels    means and differences corrected with a few human labels; how many are needed
checks        one wording for what an array argument must be

The modules are imported by name (`from undogmatic.stats import paired`), so that none costs import time unasked.
"""
