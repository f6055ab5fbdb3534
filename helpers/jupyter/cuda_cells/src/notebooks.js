// What happens on the page of a notebook, for those parts of the extension that follow it.

const ATTRIBUTES = ['class', 'disabled', 'aria-valuetext', 'contenteditable'];

const looks = [];

/** Call look(panel) for each notebook whenever its page has changed, before the browser paints the change. What a look
 * itself changes is no reason for another. */
export function followPages(tracker, look) {
  looks.push(look);
  if (looks.length > 1) {
    return;
  }
  tracker.widgetAdded.connect((_, panel) => {
    const changes = new MutationObserver(() => {
      looks.forEach(look => look(panel));
      changes.takeRecords();
    });
    changes.observe(panel.content.node, { childList: true, subtree: true, attributes: true, attributeFilter: ATTRIBUTES });
    panel.disposed.connect(() => changes.disconnect());
  });
}

/** Add a style sheet to the page. */
export function addStyle(text) {
  const style = document.createElement('style');
  style.textContent = text;
  document.head.append(style);
}

/** What an output holds under a MIME type, as text. */
export const textOf = (output, type) => [output.data?.[type] ?? ''].flat().join('');
