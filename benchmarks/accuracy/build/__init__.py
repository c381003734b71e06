"""Makes the recordings that `benchmarks.accuracy` judges, from public packages; nothing of theirs is kept here."""
