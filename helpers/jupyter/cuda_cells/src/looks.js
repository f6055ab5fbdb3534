// How a page reads: no line of prose that is too long for the eye, none of code that runs out of its cell, and none of
// printed text that breaks inside of a word.

import { addStyle } from './notebooks.js';

const LOOKS = `
.jp-MarkdownCell .jp-RenderedMarkdown > :is(p, ul, ol, blockquote, details) { max-width: 90ch; }
.jp-OutputArea-output pre { word-break: normal; overflow-wrap: anywhere; }
.jp-InputPlaceholder .jp-Placeholder-content { min-width: 0; overflow: hidden; }
.jp-InputPlaceholder .jp-Placeholder-contentContainer { display: flex; max-width: 100%; min-width: 0; }
.jp-InputPlaceholder .jp-PlaceholderText { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }`;

export function improveReading() {
  addStyle(LOOKS);
}
