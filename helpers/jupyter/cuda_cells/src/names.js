// Controls of ipywidgets by ear and by key: names for handles, play buttons and choices, what a handle stands at in words,
// no alternative text for a picture whose layer has it, no stop of the Tab key at what is switched off.

import { addStyle, followPages } from './notebooks.js';

const LOOKS = `
.jp-CourseShow .widget-radio-box label { display: flex; align-items: center; }`;

const words = element => element?.textContent.trim() ?? '';

/** Set an attribute, if it has another value: each change is looked at again. */
function set(element, name, value) {
  if (element && value && element.getAttribute(name) !== value) {
    element.setAttribute(name, value);
  }
}

function slider(root) {
  const name = words(root.querySelector('.widget-label'));
  const readout = root.querySelector('.widget-readout');
  for (const handle of root.querySelectorAll('[role="slider"]')) {
    set(handle, 'aria-label', name);
    set(handle, 'aria-valuetext', words(readout));
    set(handle, 'tabindex', root.querySelector('.noUi-target')?.hasAttribute('disabled') ? '-1' : '0');
  }
  if (root.classList.contains('gemm-list')) {
    set(readout, 'contenteditable', 'false'); // ipywidgets takes any text there, and the slider stays where it is
  } else {
    set(readout, 'role', 'textbox');
    set(readout, 'aria-label', `${name}, typed`);
  }
}

const ICONS = { 'fa-play': 'Play', 'fa-pause': 'Pause', 'fa-stop': 'Back to the start of', 'fa-retweet': 'Repeat' };

function play(root) {
  const what = words(root.parentElement.querySelector('.widget-label'));
  for (const icon of root.querySelectorAll('button > i')) {
    const does = Object.keys(ICONS).find(name => icon.classList.contains(name));
    set(icon.parentElement, 'aria-label', does && `${ICONS[does]} ${what}`.trim());
  }
}

let groups = 0;

/** One stop of the Tab key, and one name, for the options of a question. */
function radios(root) {
  const options = [...root.querySelectorAll('input[type="radio"]')];
  const name = options[0]?.name || `course-${++groups}`;
  options.filter(option => option.name !== name).forEach(option => {
    option.name = name;
  });
  set(root, 'role', 'radiogroup');
  set(root, 'aria-label', words(root.closest('.gemm-prediction')?.querySelector('.widget-html')) || words(root.querySelector('.widget-label')));
}

const PARTS = { '.widget-slider': slider, '.widget-play': play, '.widget-radio': radios };

export function nameControls(app, tracker) {
  addStyle(LOOKS);
  followPages(tracker, ({ content: { node } }) => {
    for (const [selector, name] of Object.entries(PARTS)) {
      node.querySelectorAll(selector).forEach(name);
    }
    node.querySelectorAll('.gemm-explorer img.widget-image:not([alt])').forEach(image => image.setAttribute('alt', ''));
  });
}
