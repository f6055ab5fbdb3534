"""The notebooks as slides: files to hand out, which need no network and no kernel, and live ones in JupyterLab.

    python -m helpers.tools.slides [--check] [--screenshots FOLDER] [notebooks/03-….ipynb …]

planned.py reads what the slides of a notebook say, a file beside it; deck.py finds in the notebook what they show, and
page.py writes one file with everything in it. check.py opens the files in a browser without a network and measures.
live.py tells JupyterLab's extension the same slides, where explorers are alive.
"""
