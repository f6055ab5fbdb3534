"""What a room is shown of a notebook: its steps, the speaker's notes and the slides, drawn here or in JupyterLab.

The extension of JupyterLab asks `live` for them; `python -m helpers.tools.slides` writes hand-outs of the same slides.
"""
