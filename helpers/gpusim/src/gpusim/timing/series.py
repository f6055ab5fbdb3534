"""The two series of workloads that `gpusim.timing` is judged by, and the halves of each.

A rule that looks at the kernel's name alone, written before anything was measured, splits a series: `CALIBRATION` is
what constants may be fitted to, of `HELD_BACK` only the errors are reported. The second series, `further`, was written
when the model had learnt all that the first half of the first series could teach it, and was split in the same way:
`LEARNT` is for mechanisms and constants, `VALIDATION` for their errors.
"""

SUITE, FURTHER = "workloads", "further"
CALIBRATION, HELD_BACK = "calibration", "held back"
LEARNT, VALIDATION = "further, learnt", "further, validation"
