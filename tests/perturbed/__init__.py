"""Perturbed copies of the recorded H200 run: what a capture would have recorded had one thing been otherwise.

`recorded` reads the run; `samples`, `states`, `shapes` (run.json) and `kineto` (traces) are the tools; `catalogue/`
holds the perturbations, one documented function each; `harness` writes a copy into a folder, loads it and renders it.

    from perturbed.catalogue import PERTURBATIONS
    copy = Harness(tmp_path)["untimed_winner"]
    copy.outcomes["flash-fastest"].verdict, copy.pages["index.md"], copy.readme, copy.terminal

Names, and the letter and number of what each shows, are those of the review that rendered such copies first.
"""
