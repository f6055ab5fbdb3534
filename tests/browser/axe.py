"""What a page keeps from those who hear it or see it badly, by axe-core."""

from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")
RUN = """(parts) => axe.run({ include: parts }, { resultTypes: ["violations"] }).then(
  found => found.violations.filter(one => ["serious", "critical"].includes(one.impact)).map(
    one => `${one.id}: ${one.help} (${one.nodes.map(node => node.target.join(" ")).slice(0, 3).join("; ")})`))"""
OF_THE_COURSE = (".jp-OutputArea-output", ".jp-MarkdownOutput", ".jp-CourseAnswer-line")  # and not of JupyterLab


def serious(page: Page, *parts: str) -> list[str]:
    """The serious and critical findings in these parts of a page, a sentence each; in all of it without."""
    page.evaluate(AXE)
    return page.evaluate(RUN, [[part] for part in parts or ("html",) if page.locator(part).count()])
