// What a prediction asks stays closed until the learner has committed to it: each cell with the tag "answer", the output
// of code and the text of Markdown. JupyterLab opens the output of every cell that runs, so that Run All would show each
// answer before the learner has chosen.

import { NotebookActions } from '@jupyterlab/notebook';
import { addStyle, followPages, textOf } from './notebooks.js';

const COMMITTED = '.gemm-prediction.gemm-committed';
const CLOSED = 'jp-CourseAnswer-closed';
const LOOKS = `
.jp-CourseAnswer-line { display: none; }
.${CLOSED} > .jp-CourseAnswer-line {
  display: block; box-sizing: border-box; width: 100%; border: 0; background: none; text-align: left; cursor: pointer;
  padding: 2px 8px 6px calc(var(--jp-cell-prompt-width) + 8px); color: var(--jp-ui-font-color2);
  font: italic var(--jp-content-font-size1) / 1.6 var(--jp-ui-font-family);
}
.${CLOSED} > .jp-CourseAnswer-line u { color: var(--jp-content-link-color); }
.${CLOSED} > .jp-Cell-outputWrapper, .${CLOSED}.jp-MarkdownCell > .jp-Cell-inputWrapper { display: none; }`;

const asking = new WeakMap(); // models of cells → whether they ask for a prediction, also while they run again
const committed = new WeakSet(); // models of the cells whose prediction stands
const opened = new WeakSet(); // models of the answers that the learner has opened before that

const isStep = cell => cell.model.type === 'markdown' && /^##? /.test(cell.model.sharedModel.getSource());
const isAnswer = cell => Boolean(cell.model.getMetadata('tags')?.includes('answer'));

function isPrediction({ model }) {
  if (model.type === 'code' && !asking.has(model)) {
    const read = () => {
      const shown = model.outputs.toJSON();
      if (shown.length || !asking.has(model)) {
        asking.set(model, shown.some(output => textOf(output, 'text/plain').startsWith('Predict.')));
      }
    };
    read();
    model.outputs.changed.connect(read);
  }
  return asking.get(model) ?? false;
}

/** The predictions that each answer belongs to, cell → predictions: the last one before it, whatever headings lie
 * between, with those that its step has asked right before. */
export function predictionsOfAnswers(cells) {
  const found = new Map();
  let asked = [];
  let taken = true; // whether the next prediction begins a group of its own
  for (const cell of cells) {
    if (isPrediction(cell)) {
      asked = taken ? [cell] : [...asked, cell];
      taken = false;
    } else if (isAnswer(cell)) {
      found.set(cell, asked);
      taken = true;
    } else if (isStep(cell)) {
      taken = true;
    }
  }
  return found;
}

/** Whether a prediction stands. One that is scrolled out of the page keeps what was last seen of it. */
function stands(prediction) {
  const area = prediction.outputArea?.node;
  if (area?.querySelector('.gemm-prediction')) {
    committed[area.querySelector(COMMITTED) ? 'add' : 'delete'](prediction.model);
  }
  return committed.has(prediction.model);
}

/** The line in the place of a closed answer, which opens it. */
function lineOf(cell) {
  const there = cell.node.querySelector(':scope > .jp-CourseAnswer-line');
  if (there) {
    return there;
  }
  const line = document.createElement('button');
  line.className = 'jp-CourseAnswer-line';
  line.addEventListener('click', () => {
    opened.add(cell.model);
    update(cell, []);
  });
  cell.node.append(line);
  return line;
}

/** Why an answer is closed, with the predictions that it waits for; '' if it is open. */
function reason(cell, asked) {
  if (opened.has(cell.model) || (cell.model.type === 'code' && !cell.model.outputs.length)) {
    return '';
  }
  if (!asked.length) {
    return cell.outputHidden ? 'Closed until this cell is run.' : '';
  }
  const waits = asked.filter(prediction => !stands(prediction)).length;
  const which = waits === 1 ? 'the prediction' : `the ${waits} predictions`;
  return waits ? `Closed until you have committed to ${which} above.` : '';
}

/** Close an answer or open it. */
function update(cell, asked) {
  const why = reason(cell, asked);
  const words = `${why} <u>Show it now</u>`;
  if (why && lineOf(cell).innerHTML !== words) {
    lineOf(cell).innerHTML = words;
  }
  if (cell.hasClass(CLOSED) === Boolean(why)) {
    return;
  }
  cell.toggleClass(CLOSED, Boolean(why));
  if (!why && cell.outputHidden) {
    cell.outputHidden = false; // it is stored so
  }
}

export function keepAnswersClosed(app, tracker) {
  addStyle(LOOKS);
  followPages(tracker, panel => predictionsOfAnswers(panel.content.widgets).forEach((asked, cell) => update(cell, asked)));
  NotebookActions.executed.connect((_, { cell }) => opened.delete(cell.model));
}
