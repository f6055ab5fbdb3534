// Listings, tables and questions grow into the room that their slide has, a table with many rows and an opened answer shrink; then reveal.js takes the slides over.
"use strict";
(() => {
  const LARGEST = 36, LARGEST_PRINTED = 48, SMALLEST = 18; // pixels
  const fits = (shown) => shown.scrollHeight <= shown.clientHeight && shown.scrollWidth <= shown.clientWidth;
  const fit = (shown, part, shrinks) => {
    part.style.fontSize = "";
    const largest = part.matches("pre.printed") ? LARGEST_PRINTED : LARGEST;
    let size = parseFloat(getComputedStyle(part).fontSize);
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
