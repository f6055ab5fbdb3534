// Controls whose kernel has gone: in a notebook that was opened again, or after a restart. ipywidgets shows "Error displaying
// widget", or an icon of a broken chain in each control. In their place stands what to do, and below it what is stored of
// the output: an explorer's picture, or a prediction's question on paper.

import { MimeModel } from '@jupyterlab/rendermime';
import { Panel, Widget } from '@lumino/widgets';
import { addStyle, followPages } from './notebooks.js';

const CONTROLS = 'application/vnd.jupyter.widget-view+json';
const STORED = ['image/png', 'text/html'];
const GONE = 'jp-CourseGone';
const LOOKS = `
.${GONE} > :nth-child(2) { display: none; }
.jp-CourseGone-message { padding: 6px 0; font: italic var(--jp-content-font-size1) / 1.6 var(--jp-ui-font-family); }`;

const isGone = output =>
  output.node.textContent.startsWith('Error displaying widget') || output.node.querySelector('.jupyter-widgets-disconnected');

function substitute(stored, rendermime) {
  const shown = new Panel();
  shown.addClass('jp-OutputArea-output');
  const message = new Widget();
  message.addClass('jp-CourseGone-message');
  message.node.textContent = 'Run this cell (Shift+Enter) to bring it back.';
  shown.addWidget(message);
  const type = STORED.find(type => stored.data[type]);
  if (type) {
    const { data, metadata, trusted } = stored;
    const renderer = rendermime.createRenderer(type);
    void renderer.renderModel(new MimeModel({ data, metadata, trusted }));
    shown.addWidget(renderer);
  }
  return shown;
}

function look(panel) {
  for (const { outputArea } of panel.content.widgets.filter(cell => cell.model.type === 'code')) {
    outputArea?.widgets.forEach((row, number) => {
      const [, output, there] = row.widgets ?? [];
      const stored = outputArea.model.get(number);
      const gone = Boolean(output && stored?.data[CONTROLS] && isGone(output));
      if (gone && !there) {
        row.addWidget(substitute(stored, panel.content.rendermime));
      } else if (!gone && there) {
        there.dispose();
      }
      row.toggleClass(GONE, gone);
    });
  }
}

export function bringBack(app, tracker) {
  addStyle(LOOKS);
  followPages(tracker, look);
}
