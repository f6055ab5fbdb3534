"""A profiler's report without a GPU: one page about any launch, which opens with its limiter in a sentence and names
causes of slowness that counts prove (`causes`).

python -m helpers.profile kernel.cu "copy<4>" --grid 1024 --block 256 --args 1048576 1048576 1048576
show = profile.profile(launch)               # of gemm_kernels, a recording, or what gpusim.capture caught
print(page.text(show)); page.page(show)      # terminal, HTML
"""

from helpers.profile.facts import Profile, profile
from helpers.profile.page import Page, compared, document, page, text

__all__ = ["Page", "Profile", "compared", "document", "page", "profile", "text"]
