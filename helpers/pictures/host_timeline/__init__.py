"""What happens between the launches? The host and the GPU's streams as rows, each span where it was in time."""

from helpers.pictures import parts_of

__getattr__ = parts_of(__name__)
