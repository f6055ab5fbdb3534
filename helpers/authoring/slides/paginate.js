// Breaks slides into pages of 1280 × 720 before reveal.js takes them over: what does not fit goes to the next page, with
// the heading above it once more. Here, in the browser, because only the browser knows how wide its letters are.
"use strict";
(() => {
  const BOTTOM = 720 - 40; // where a page's content has to end
  const WIDTH = 1280 - 2 * 56;
  const SMALLEST_LETTER = 14; // pixels
  const WRAPPED = 18; // pixels, of lines that are too long for any size
  const SMALLEST_CODE = 16; // pixels that a listing or table may shrink to, to stay on one page
  const SMALLEST_PICTURE = 720; // pixels across
  const ROWS_WORTH_SPLITTING = 6;

  const isHeading = (block) => /^H[123]$/.test(block.firstElementChild?.tagName ?? "");
  const leadsIn = (block) => block.classList.contains("text") && /[:…]$/.test(block.textContent.trim());
  const blocksOf = (page) => [...page.querySelectorAll(":scope > .block")];
  const bottom = (page) => Math.max(...[...page.children].map((child) => child.offsetTop + child.offsetHeight));
  const fits = (page) => bottom(page) <= BOTTOM;

  // A text becomes one block for each paragraph, list or heading.
  function unfold(block) {
    if (!block.matches(".text") || block.children.length < 2) return [block];
    return [...block.children].map((child) => {
      const part = block.cloneNode(false);
      part.append(child);
      return part;
    });
  }

  // Letters of a listing or table that is too wide get smaller, down to the smallest that can be read.
  function narrow(block) {
    for (const wide of block.querySelectorAll("pre, table")) {
      const size = parseFloat(getComputedStyle(wide).fontSize);
      if (wide.tagName === "PRE") wide.style.whiteSpace = "pre";
      const needed = wide.scrollWidth, room = Math.min(wide.clientWidth || WIDTH, WIDTH);
      if (needed <= room) continue;
      // Paddings do not shrink with the letters: a little more than in proportion.
      const smaller = Math.floor(2 * size * (room - 40) / (needed - 40)) / 2;
      const wraps = wide.tagName === "PRE" && smaller < SMALLEST_LETTER;
      if (wraps) wide.style.whiteSpace = "pre-wrap";
      wide.style.fontSize = `${wraps ? WRAPPED : Math.max(SMALLEST_LETTER, smaller)}px`;
    }
  }

  // Makes a picture smaller, but no smaller than SMALLEST_PICTURE, to stay with what stands above it.
  function squeeze(page, block) {
    const image = block.querySelector(":scope > img");
    if (!image) return false;
    const factor = 1 - (bottom(page) - BOTTOM) / image.offsetHeight;
    if (image.offsetWidth * factor < SMALLEST_PICTURE) return false;
    scale(image, factor);
    return fits(page);
  }

  function fitTogether(block, others) {
    const heights = [block, ...others].map((one) => {
      const image = one.querySelector(":scope > img");
      return image ? image.offsetHeight * Math.min(1, SMALLEST_PICTURE / image.offsetWidth) : one.offsetHeight;
    });
    const gaps = (heights.length + 1) * 14; // deck.css
    return heights.reduce((sum, height) => sum + height, 0) + gaps + 60 <= BOTTOM;
  }

  // Makes a picture that is too high smaller, or the letters of a listing or table down to SMALLEST_CODE. True if the
  // page then fits.
  function shrink(page, block) {
    const image = block.querySelector(":scope > img");
    if (image) {
      const height = image.offsetHeight - (bottom(page) - BOTTOM);
      scale(image, height / image.offsetHeight);
      return fits(page);
    }
    for (const listing of block.querySelectorAll("pre, table")) {
      const before = listing.style.fontSize;
      for (let size = parseFloat(getComputedStyle(listing).fontSize) - 1; size >= SMALLEST_CODE && !fits(page); size -= 1) {
        listing.style.fontSize = `${size}px`;
      }
      if (fits(page)) return true;
      listing.style.fontSize = before;
    }
    return false;
  }

  function scale(image, factor) {
    const [width, height] = [image.offsetWidth, image.offsetHeight];
    image.style.width = `${Math.floor(width * factor)}px`;
    image.style.height = `${Math.floor(height * factor)}px`;
  }

  // Takes rows from the end of a block until the page fits. Returns a block with those rows, or null if it has too few.
  function split(page, block) {
    const holder = ["tbody", "pre", "ol", "ul"].map((name) => block.querySelector(name)).find((found) => found);
    if (!holder || holder.children.length < ROWS_WORTH_SPLITTING) return null;
    const rest = block.cloneNode(true);
    const others = rest.querySelector(holder.tagName);
    others.replaceChildren();
    while (holder.children.length > 1 && !fits(page)) others.prepend(holder.lastElementChild);
    if (holder.tagName === "OL") others.start = (holder.start || 1) + holder.children.length;
    return rest;
  }

  function newPage(slide, first) {
    const page = slide.cloneNode(false);
    page.classList.add("measured");
    slide.before(page);
    if (!(first && isHeading(first)) && slide.dataset.heading) {
      const running = document.createElement("p");
      running.className = "running";
      running.textContent = slide.dataset.heading;
      page.append(running);
    }
    return page;
  }

  function paginate(slide) {
    const queue = blocksOf(slide).flatMap(unfold);
    const pages = [];
    let page = null;
    while (queue.length) {
      if (!page) pages.push((page = newPage(slide, queue[0])));
      const block = queue.shift();
      page.append(block);
      narrow(block);
      if (fits(page)) continue;
      if (squeeze(page, block)) continue;
      const before = blocksOf(page).slice(0, -1);
      const moved = [block];
      // Code goes along with the picture or table that it makes, and a sentence that ends in ":" with both, where they
      // fit together; a heading always, so that it never stays behind alone.
      const belongs = (one) => one.dataset.cell === block.dataset.cell || leadsIn(one);
      while (before.length && belongs(before.at(-1)) && fitTogether(before.at(-1), moved)) moved.unshift(before.pop());
      while (before.length && isHeading(before.at(-1))) moved.unshift(before.pop());
      if (before.length) {
        queue.unshift(...moved);
      } else if (moved.length > 1 && block.matches(".picture")) {
        queue.unshift(block); // what leads in to it stays alone
      } else if (!shrink(page, block)) {
        const rest = split(page, block);
        if (rest) queue.unshift(rest);
        else if (moved.length > 1) queue.unshift(block);
      }
      moved.forEach((one) => queue.includes(one) && one.remove());
      page = null;
    }
    const notes = slide.querySelector(":scope > aside.notes");
    notes?.querySelectorAll("details").forEach((folded) => (folded.open = true));
    for (const one of pages) {
      if (notes) one.append(notes.cloneNode(true));
      finish(one);
    }
    slide.remove();
  }

  // Pictures grow into the room that is left; a page whose blocks all wait for a key shows its first one at once.
  function finish(page) {
    const blocks = blocksOf(page);
    const images = blocks.flatMap((block) => [...block.querySelectorAll(":scope > img")]);
    for (const [number, image] of images.entries()) {
      const room = (BOTTOM - bottom(page)) / (images.length - number);
      scale(image, Math.max(1, Math.min(WIDTH / image.offsetWidth, 1 + room / image.offsetHeight)));
    }
    const waits = (block) => block.classList.contains("fragment");
    if (blocks.every(waits)) {
      blocks.filter((block) => block.dataset.cell === blocks[0].dataset.cell).forEach((block) => block.classList.remove("fragment"));
    }
    for (const block of blocks.filter(waits)) block.dataset.fragmentIndex = block.dataset.cell; // a cell appears at once
    page.classList.remove("measured");
  }

  document.querySelectorAll(".slides > section > section").forEach(paginate);
  Reveal.initialize({
    width: 1280, height: 720, margin: 0, center: false, display: "flex", transition: "none", hash: true,
    navigationMode: "linear", slideNumber: "c/t", controlsTutorial: false, pdfSeparateFragments: false,
    plugins: [RevealNotes],
  });
})();
