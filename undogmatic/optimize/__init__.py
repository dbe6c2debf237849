"""DSPy's optimisers over our judges: splits, metrics, programs, and what the untouched test split
says of them."""
