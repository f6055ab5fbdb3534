// Listings, tables and questions grow into the room that their slide has, and shrink where it is too small; then
// reveal.js takes the slides over. present.js, of the JupyterLab extension, fits them by the same rules.
"use strict";
(() => {
  const LARGEST = 36, LARGEST_PLAIN = 56, SMALLEST = 18; // pixels; plain: printed text and drawings
  const WRAPPED = 40, WHOLE = 34; // pixels of printed lines: at most, where they go on in the next one; at least, where not
  const FEW_LINES = 3; // of printed text; more of them stay whole in letters of any size
  const SHORT = 12; // letters of a table's cell that stays in one line, as a number or a shape does
  const NUMBER = /^[\d\s.,%×+−-]*$/;
  const READABLE = 26; // pixels of a table up to which short cells may break
  const fits = (shown) => shown.scrollHeight <= shown.clientHeight && shown.scrollWidth <= shown.clientWidth;
  const sized = (shown, part, largest, shrinks) => {
    const set = (pixels) => { part.style.fontSize = `${pixels}px`; };
    part.style.fontSize = "";
    let size = parseFloat(getComputedStyle(part).fontSize);
    while (shrinks && size > SMALLEST && !fits(shown)) set((size -= 1));
    if (!fits(shown)) return 0;
    while (size < largest && fits(shown)) set((size += 1));
    if (!fits(shown)) set((size -= 1));
    return size;
  };
  const fitPrinted = (shown, part) => {
    const lines = part.childElementCount;
    part.style.whiteSpace = "pre";
    if (sized(shown, part, LARGEST_PLAIN) >= (lines > FEW_LINES ? 1 : WHOLE)) return;
    part.style.whiteSpace = "";
    sized(shown, part, lines > 1 ? WRAPPED : LARGEST_PLAIN);
  };
  const fitTable = (shown, table) => {
    const short = [...table.querySelectorAll("td, th")].filter(({textContent: text}) =>
      text.trim().length <= SHORT || NUMBER.test(text));
    const keep = (space, largest) => {
      for (const cell of short) cell.style.whiteSpace = space;
      return sized(shown, table, largest, true);
    };
    const size = keep("nowrap", LARGEST);
    if (size < READABLE && keep("", READABLE) <= size) keep("nowrap", LARGEST);
  };
  const fit = (shown, part) => {
    if (part.matches("pre.printed")) fitPrinted(shown, part);
    else if (part.matches("table")) fitTable(shown, part);
    else sized(shown, part, part.matches("pre.drawing") ? LARGEST_PLAIN : LARGEST);
  };
  for (const shown of document.querySelectorAll(".shown:not(.picture, .film, .way)")) {
    const slide = shown.closest("section");
    slide.style.display = "flex";
    for (const part of shown.matches(".ask") ? [shown] : shown.querySelectorAll("pre, table")) fit(shown, part);
    slide.style.display = "";
    shown.querySelector("details")?.addEventListener("toggle", () => sized(shown, shown, LARGEST, true));
  }
  Reveal.initialize({
    width: 1280, height: 720, margin: 0, center: false, display: "flex", transition: "none", hash: true, controls: false,
    navigationMode: "linear", slideNumber: "c/t", plugins: [RevealNotes],
  });
})();
