// Measures the slide that is shown: a list of what is wrong with it, a sentence each. check.py calls it.
([width, height, tolerance, smallestLetter, smallestCode]) => {
  const slide = Reveal.getCurrentSlide();
  const found = new Set();
  if (!slide.querySelector("h1")?.textContent.trim()) found.add("has no title");
  for (const element of [slide, ...slide.querySelectorAll("*")]) {
    if (element.closest("aside.notes") || element.closest("details:not([open]) > :not(summary)")) continue;
    const box = element.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) continue; // not drawn
    const say = (sentence) => found.add(`${element.tagName.toLowerCase()} ${sentence}`);
    const below = Math.ceil(box.bottom - height - tolerance), right = Math.ceil(box.right - width - tolerance);
    if (below > 0) say(`reaches ${below} pixels below the slide`);
    if (right > 0) say(`reaches ${right} pixels past the slide's right edge`);
    if (box.left < -tolerance || box.top < -tolerance) say("begins outside the slide");
    const holder = element.parentElement;
    if (holder?.matches(".shown") && box.bottom > holder.getBoundingClientRect().bottom + tolerance)
      say(`reaches ${Math.ceil(box.bottom - holder.getBoundingClientRect().bottom)} pixels below its place`);
    if (element.matches("pre.code") && element.scrollWidth > element.clientWidth + 2) say("hides the ends of lines");
    const letter = parseFloat(getComputedStyle(element).fontSize);
    const smallest = element.closest("pre.code") ? smallestCode : smallestLetter;
    if (letter < smallest - 0.1 && [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
      say(`has letters of ${letter.toFixed(1)} pixels, less than ${smallest}`);
    if (element.tagName !== "IMG") continue;
    if (element.dataset.faults) say(`shows a picture in which ${element.dataset.faults}`);
    if (!element.complete || element.naturalWidth === 0) say("has a picture that does not show");
    else if (!element.alt.trim()) say("has no words for who cannot see it");
    else {
      const scale = 1.44 * Math.min(box.width / element.naturalWidth, box.height / element.naturalHeight);
      const drawn = scale * Number(element.dataset.letters);
      if (drawn > 0 && drawn < smallestLetter - 0.1)
        say(`shows a picture whose smallest letters have ${drawn.toFixed(1)} pixels, less than ${smallestLetter}`);
    }
  }
  return [...found];
}
