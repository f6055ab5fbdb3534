"""What a recording tells, as frozen dataclasses: who accessed what, in which order, and what it cost."""
