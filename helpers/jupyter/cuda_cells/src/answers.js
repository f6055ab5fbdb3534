// What a prediction is about stays closed until the learner has committed to it. JupyterLab opens the output of every cell
// that runs, so that Run All would show each answer before anybody has chosen.

import { NotebookActions } from '@jupyterlab/notebook';

const WAIT = 10_000; // milliseconds in which a commitment is answered
const committed = new WeakSet(); // models of the cells whose prediction stands

// JupyterLab writes the beginning of a closed output beside the dots that open it.
const LOOKS = `
.jp-OutputPlaceholder .jp-PlaceholderText { font-size: 0; }
.jp-OutputPlaceholder .jp-PlaceholderText::before {
  content: 'Closed until you have chosen'; font: var(--jp-content-font-size1) var(--jp-ui-font-family);
}`;

const isStep = cell => cell.model.type === 'markdown' && cell.model.sharedModel.getSource().startsWith('## ');
const isAnswer = cell => cell.model.type === 'code' && cell.model.getMetadata('tags')?.includes('answer');

function isPrediction(cell) {
  const shown = cell.model.type === 'code' ? cell.model.outputs?.toJSON() ?? [] : [];
  return shown.some(output => [output.data?.['text/plain'] ?? ''].flat().join('').startsWith('Predict.'));
}

/** The prediction that a cell answers: the last one before it in its step, null without one. */
function predictionOf(cells, answer) {
  for (const cell of cells.slice(0, cells.indexOf(answer)).reverse()) {
    if (isPrediction(cell)) {
      return cell;
    }
    if (isStep(cell)) {
      return null;
    }
  }
  return null;
}

function ran(notebook, cell) {
  if (isPrediction(cell)) {
    committed.delete(cell.model); // it is asked anew
  } else if (isAnswer(cell)) {
    const prediction = predictionOf(notebook.widgets, cell);
    if (prediction && !committed.has(prediction.model)) {
      cell.outputHidden = true;
    }
  }
}

/** Open the answers of a prediction when it stands, and close them when it is taken back. */
function follow(notebook, question) {
  const prediction = notebook.widgets.find(cell => cell.outputArea?.node.contains(question));
  if (!prediction) {
    return;
  }
  const watch = new MutationObserver(() => {
    const stands = question.classList.contains('gemm-committed');
    committed[stands ? 'add' : 'delete'](prediction.model);
    for (const cell of notebook.widgets.filter(isAnswer)) {
      if (cell.model.outputs.length && predictionOf(notebook.widgets, cell) === prediction) {
        cell.outputHidden = !stands;
      }
    }
  });
  watch.observe(question, { attributes: true, attributeFilter: ['class'] });
  setTimeout(() => watch.disconnect(), WAIT);
}

export function keepAnswersClosed(app, tracker) {
  const style = document.createElement('style');
  style.textContent = LOOKS;
  document.head.append(style);
  NotebookActions.executed.connect((_, { notebook, cell }) => ran(notebook, cell));
  const pressed = event => {
    const question = event.target instanceof Element && event.target.closest('button') && event.target.closest('.gemm-prediction');
    if (question && tracker.currentWidget) {
      follow(tracker.currentWidget.content, question);
    }
  };
  document.addEventListener('click', pressed, true);
}
