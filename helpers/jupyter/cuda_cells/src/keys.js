// Keys that move a control belong to the control in focus: in command mode JupyterLab would go to another cell, and take
// the focus with it. Every other key stays JupyterLab's, so that Shift+Enter runs and I I interrupts from a slider, too.

const MOVES = new Set(['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight', 'Home', 'End', 'PageUp', 'PageDown']);
const CONTROLS = 'input, select, [role=slider]';
const SUPPRESS = 'data-lm-suppress-shortcuts'; // JupyterLab's own mark of a place in which it has no shortcuts

/** Before JupyterLab sees a key, say whose it is. */
export function leaveKeysToControls() {
  window.addEventListener('keydown', event => {
    const control = event.target instanceof Element && event.target.closest('.jp-OutputArea-output')
      ? event.target.closest(CONTROLS)
      : null;
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    control?.toggleAttribute(SUPPRESS, plain && MOVES.has(event.key));
  }, true);
}
