"""The sanitizer: races, values that are not defined, and barriers, in sentences."""
