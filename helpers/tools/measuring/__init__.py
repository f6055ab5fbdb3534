"""Making the recordings on a GPU: `python -m helpers.tools.measuring record`, `tune`, `choose`, `calibrate`."""
