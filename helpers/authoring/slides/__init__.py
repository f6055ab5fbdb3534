"""The notebooks as slides to hand out: one HTML file for each, which needs no network, no Jupyter and no kernel.

    python -m helpers.authoring.slides [--check] [--screenshots FOLDER] [notebooks/03-….ipynb …]

deck.py turns a notebook's cells into slides, and page.py writes
one file with everything in it. There paginate.js breaks what does not fit a slide of 1280 × 720 onto the next one, in
the browser that shows it: only the browser knows how wide its letters are. check.py opens the files in a browser
without a network and measures.
"""
