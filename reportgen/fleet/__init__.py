"""The report on every kind of GPU of a cluster: one job per kind, by submitit."""
