"""The explorer of a shuffle: mode, offset, width and mask → which lane takes whose value, and who asks in vain."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
