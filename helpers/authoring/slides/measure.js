// Measures the page that is shown: a list of what is wrong with it, a sentence each. check.py calls it.
([width, height, tolerance, smallestLetter, smallestPicture]) => {
  const slide = Reveal.getCurrentSlide();
  const found = new Set();
  const place = (element) => {
    const block = element.closest(".block");
    return block ? `cell ${block.dataset.cell} (${block.classList[1]})` : "the heading";
  };
  const hides = (overflow, whole, shown) => /auto|scroll|hidden/.test(overflow) && shown > 0 && whole > shown + 2;
  for (const element of [slide, ...slide.querySelectorAll("*")]) {
    if (element.closest("aside.notes") || element.closest("details:not([open]) > :not(summary)")) continue;
    const box = element.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) continue; // not drawn
    const say = (sentence) => found.add(`${place(element)} ${sentence}`);
    const below = Math.ceil(box.bottom - height - tolerance), right = Math.ceil(box.right - width - tolerance);
    if (below > 0) say(`reaches ${below} pixels below the slide`);
    if (right > 0) say(`reaches ${right} pixels past the slide's right edge`);
    if (box.left < -tolerance || box.top < -tolerance) say("begins outside the slide");
    const style = getComputedStyle(element);
    if (hides(style.overflowY, element.scrollHeight, element.clientHeight))
      say(`hides ${element.scrollHeight - element.clientHeight} pixels of its height`);
    if (hides(style.overflowX, element.scrollWidth, element.clientWidth))
      say(`hides ${element.scrollWidth - element.clientWidth} pixels of its width`);
    const letter = parseFloat(style.fontSize);
    if (letter < smallestLetter - 0.1 && [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
      say(`has letters of ${letter.toFixed(1)} pixels, less than ${smallestLetter}`);
    if (element.tagName !== "IMG") continue;
    if (!element.complete || element.naturalWidth === 0) say("has a picture that does not show");
    else if (box.width < smallestPicture)
      say(`has a picture of ${Math.round(box.width)} pixels across, less than ${smallestPicture}`);
  }
  return [...found];
}
