"""What the host and the GPU did when in the seven steps of a launch, as recorded."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim import devices
from helpers import recordings
from helpers.measure.host_timeline import HOST, MARKS, ONE_STREAM, SEVERAL_STREAMS, SIZE, SUITE, Span
from helpers.recordings.measurement import recorded_on

__all__ = ["HOST", "MARKS", "ONE_STREAM", "SEVERAL_STREAMS", "SIZE", "Recorded", "Span", "recorded"]


@dataclass(frozen=True)
class Recorded:
    """One way of the seven steps. label: where it was recorded."""

    name: str
    spans: tuple[Span, ...]
    label: str

    @property
    def length(self) -> float:
        """Milliseconds until the last of them is done."""
        return max(span.end for span in self.spans)

    def of(self, kind: str) -> tuple[Span, ...]:
        """The spans of a kind on the GPU, or of the host if no stream has any; marks are no work."""
        spans = tuple(span for span in self.spans if span.kind == kind and span.row != MARKS)
        return tuple(span for span in spans if span.row != HOST) or spans


def recorded(name: str, gpu_name: str = devices.DEFAULT.name) -> Recorded:
    """The timeline of ONE_STREAM or SEVERAL_STREAMS. Raises NoRecording."""
    content = recordings.raw(gpu_name, SUITE)
    (spans,) = (row["spans"] for row in content["rows"] if row["name"] == name)
    return Recorded(name, tuple(Span(*span) for span in spans), recorded_on(content["provenance"]["gpu"]))
