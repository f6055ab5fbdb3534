"""The explorer of a shuffle: mode, offset, width and mask → which lane takes whose value, and who asks in vain."""
