// Measures the slide that is shown, in a hand-out or in JupyterLab: a list of what is wrong with it, a sentence each.
([width, height, tolerance, smallestLetter, smallestCode]) => {
  const slide = document.querySelector(".jp-CourseShow .course-slide") ?? Reveal.getCurrentSlide();
  const found = new Set();
  const written = (node) => node.nodeType === 3 && node.data.trim();
  // A word that begins in one line and ends in the next, which nobody meant: its letters have more than one height.
  const broken = (node) => [...node.data.matchAll(/[^\s\u00ad\u200b/–-]+/g)].find((word) => {
    const range = document.createRange();
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    return new Set([...range.getClientRects()].filter((box) => box.width > 0).map((box) => Math.round(box.top))).size > 1;
  })?.[0];
  if (!slide.querySelector("h1")?.textContent.trim()) found.add("has no title");
  for (const element of [slide, ...slide.querySelectorAll("*:not(svg *)")]) {
    if (element.closest("aside.notes") || element.closest("details:not([open]) > :not(summary)")) continue;
    const box = element.getBoundingClientRect();
    if (box.width === 0 || box.height === 0 || !element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true })) continue;
    const say = (sentence) => found.add(`${element.tagName.toLowerCase()} ${sentence}`);
    const below = Math.ceil(box.bottom - height - tolerance), right = Math.ceil(box.right - width - tolerance);
    if (below > 0) say(`reaches ${below} pixels below the slide`);
    if (right > 0) say(`reaches ${right} pixels past the slide's right edge`);
    if (box.left < -tolerance || box.top < -tolerance) say("begins outside the slide");
    const holder = element.parentElement;
    if (holder?.matches(".shown") && box.bottom > holder.getBoundingClientRect().bottom + tolerance)
      say(`reaches ${Math.ceil(box.bottom - holder.getBoundingClientRect().bottom)} pixels below its place`);
    if (element.matches("pre.code") && element.scrollWidth > element.clientWidth + 2) say("hides the ends of lines");
    // A slide in JupyterLab is scaled to the window, and what it shows once more.
    const scaled = element.closest(".jp-CourseShow-live, .course-slide");
    const scale = scaled.getBoundingClientRect().width / scaled.offsetWidth;
    const letter = parseFloat(getComputedStyle(element).fontSize) * scale;
    const smallest = element.closest("pre.code") ? smallestCode : smallestLetter;
    const texts = [...element.childNodes].filter(written);
    if (letter < smallest - 0.1 && texts.length && !element.matches(".jp-CourseShow-page"))
      say(`has letters of ${letter.toFixed(1)} pixels, less than ${smallest}: “${texts[0].data.trim().slice(0, 30)}”`);
    for (const word of texts.map(broken).filter(Boolean)) say(`breaks a line inside of “${word}”`);
    if (element.tagName !== "IMG") continue;
    if (!element.complete || element.naturalWidth === 0) say("has a picture that does not show");
    else if (!element.alt.trim() && !element.matches(".widget-image")) say("has no words for who cannot see it");
    else {
      if (element.dataset.faults) say(`shows a picture in which ${element.dataset.faults}`);
      const shown = 1.44 * Math.min(box.width / element.naturalWidth, box.height / element.naturalHeight);
      const drawn = shown * Number(element.dataset.letters);
      if (drawn > 0 && drawn < smallestLetter - 0.1)
        say(`shows a picture whose smallest letters have ${drawn.toFixed(1)} pixels, less than ${smallestLetter}`);
    }
  }
  return [...found];
}
