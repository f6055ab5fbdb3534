// What a hand-out consists of: check.Facts. All slides are laid out for it at once, one below the other.
() => {
  const all = [...document.querySelectorAll(".slides .course-slide")];
  all.forEach((slide) => slide.style.setProperty("display", "flex", "important"));
  const kind = (name) => document.querySelectorAll(`.shown.${name}`).length;
  const words = (slide) =>
    [...slide.querySelectorAll("h1, .words")].flatMap((part) => part.innerText.split(/\s+/)).filter((word) => /[\p{L}\p{N}]/u.test(word));
  const listings = [...document.querySelectorAll("pre.code")];
  const drawn = [...document.querySelectorAll(".shown img")].map((image) => 1.44 * Number(image.dataset.letters) *
    Math.min(image.offsetWidth / image.naturalWidth, image.offsetHeight / image.naturalHeight));
  return {
    pages: all.length, pictures: kind("picture"), films: kind("film"), kernels: kind("kernel"), questions: kind("ask"),
    tables: kind("table") + kind("printed"), frames: document.querySelectorAll(".film img").length,
    // The opening has the idea of the notebook in three sentences, and nothing else to look at.
    words: Math.max(...all.filter((slide) => !slide.matches(".opening")).map((slide) => words(slide).length)),
    code: Math.min(...listings.map((one) => parseFloat(getComputedStyle(one).fontSize)), 99),
    lines: Math.max(...listings.map((one) => Number(one.dataset.lines)), 0),
    drawn: Math.min(...drawn.filter((one) => one > 0), 99),
  };
}
