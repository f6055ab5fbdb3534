// Listings, tables and questions grow into the room that their slide has, a table with many rows shrinks; then reveal.js takes the slides over.
"use strict";
(() => {
  const LARGEST = 36, SMALLEST = 18; // pixels; only a table is ever made smaller than it was
  const fits = (shown) => shown.scrollHeight <= shown.clientHeight && shown.scrollWidth <= shown.clientWidth;
  for (const shown of document.querySelectorAll(".shown:not(.picture, .film, .way)")) {
    const slide = shown.closest("section");
    slide.style.display = "flex";
    const parts = shown.matches(".ask") ? [shown] : [...shown.querySelectorAll("pre, table")];
    for (const part of parts) {
      const table = part.matches("table");
      for (let size = parseFloat(getComputedStyle(part).fontSize) - 1; table && size >= SMALLEST && !fits(shown); size -= 1)
        part.style.fontSize = `${size}px`;
      for (let size = parseFloat(getComputedStyle(part).fontSize) + 1; size <= LARGEST; size += 1) {
        part.style.fontSize = `${size}px`;
        if (fits(shown)) continue;
        part.style.fontSize = `${size - 1}px`;
        break;
      }
    }
    slide.style.display = "";
  }
  Reveal.initialize({
    width: 1280, height: 720, margin: 0, center: false, display: "flex", transition: "none", hash: true, controls: false,
    navigationMode: "linear", slideNumber: "c/t", plugins: [RevealNotes],
  });
})();
