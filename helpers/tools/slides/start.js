// Listings, tables and questions grow into the room that their slide has, a table with many rows and an opened answer
// shrink, and lines of printed text stay whole where there are many of them; then reveal.js takes the slides over.
"use strict";
(() => {
  const LARGEST = 36, LARGEST_PLAIN = 56, SMALLEST = 18; // pixels; plain: printed text and drawings
  const FEW_LINES = 3, NARROW = 48; // of printed text, and letters of a line that stays whole though they are few
  const SHORT = 12; // letters of a table's cell that stays in one line
  const fits = (shown) => shown.scrollHeight <= shown.clientHeight && shown.scrollWidth <= shown.clientWidth;
  const fit = (shown, part, shrinks) => {
    part.style.fontSize = "";
    const printed = part.matches("pre.printed");
    const largest = printed || part.matches("pre.drawing") ? LARGEST_PLAIN : LARGEST;
    for (const cell of part.querySelectorAll("td, th"))
      if (cell.textContent.trim().length <= SHORT) cell.style.whiteSpace = "nowrap";
    let size = parseFloat(getComputedStyle(part).fontSize);
    const lines = part.textContent.split("\n");
    if (printed && (lines.length > FEW_LINES || lines.every((line) => line.length <= NARROW))) part.style.whiteSpace = "pre";
    if (printed && !fits(shown)) part.style.whiteSpace = "";
    const set = (pixels) => { part.style.fontSize = `${pixels}px`; };
    while (shrinks && size > SMALLEST && !fits(shown)) set((size -= 1));
    while (size < largest && fits(shown)) set((size += 1));
    if (!fits(shown) && size > SMALLEST) set(size - 1);
  };
  for (const shown of document.querySelectorAll(".shown:not(.picture, .film, .way)")) {
    const slide = shown.closest("section");
    slide.style.display = "flex";
    for (const part of shown.matches(".ask") ? [shown] : shown.querySelectorAll("pre, table")) fit(shown, part, part.matches("table"));
    slide.style.display = "";
    shown.querySelector("details")?.addEventListener("toggle", () => fit(shown, shown, true));
  }
  Reveal.initialize({
    width: 1280, height: 720, margin: 0, center: false, display: "flex", transition: "none", hash: true, controls: false,
    navigationMode: "linear", slideNumber: "c/t", plugins: [RevealNotes],
  });
})();
