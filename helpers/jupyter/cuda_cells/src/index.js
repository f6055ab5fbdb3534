// What the course adds to JupyterLab: pictures that follow light and dark, slides, keys for controls, and cells of CUDA.
//
// Cells that begin with %%cuda, in JupyterLab 4 and Notebook 7: C++ colours and line numbers, and after a run a mark on
// each line that the cell's output names. Every other cell stays as it is.
//
// One CodeMirror extension that every editor of a code cell gets when it is made: so it holds in each notebook, for
// cells that come later, and for cells that are scrolled away and back. After a change here: `make labextension`.

import { EditorExtensionRegistry, IEditorExtensionRegistry } from '@jupyterlab/codemirror';
import { HighlightStyle, syntaxHighlighting, syntaxTree } from '@codemirror/language';
import { Compartment, EditorState, Prec, StateEffect, StateField } from '@codemirror/state';
import { Decoration, EditorView, lineNumbers, MatchDecorator, ViewPlugin } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { namedLines } from './lines.js';
import { improveReading } from './looks.js';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { INotebookTracker } from '@jupyterlab/notebook';
import { keepAnswersClosed } from './answers.js';
import { bringBack } from './bring_back.js';
import { keepClean } from './clean.js';
import { leaveKeysToControls } from './keys.js';
import { nameControls } from './names.js';
import { showPictures } from './pictures.js';
import { offerSlides } from './present.js';

const CPP = 'text/x-c++src';
const isCuda = text => /^%%cuda\b/.test(text);
const begins = doc => isCuda(doc.sliceString(0, 8));

const followed = new WeakSet(); // models of cells: a cell may have several editors, one after the other or at once

/** Keep a cell's mime type: C++ while it begins with the magic, else what the notebook last gave it. */
function followMimeType(model) {
  if (followed.has(model)) {
    return;
  }
  followed.add(model);
  let given = model.mimeType;
  const update = () => {
    if (model.mimeType !== CPP) {
      given = model.mimeType;
    }
    model.mimeType = isCuda(model.sharedModel.getSource()) ? CPP : given;
  };
  model.mimeTypeChanged.connect(update);
  model.sharedModel.changed.connect(update);
  update();
}

/** JupyterLab's own colours have none for types. */
const TYPES = syntaxHighlighting(
  HighlightStyle.define([{ tag: [tags.typeName, tags.standard(tags.typeName)], class: 'jp-CudaCell-builtin' }])
);

const KEYWORD = Decoration.mark({ class: 'jp-CudaCell-keyword' });
const BUILTIN = Decoration.mark({ class: 'jp-CudaCell-builtin' });

const matcher = new MatchDecorator({
  regexp: /\b(?:(__[a-z_]+__)|threadIdx|blockIdx|blockDim|gridDim|warpSize|__[a-z]\w*)\b/g,
  decorate: (add, from, to, match, view) => {
    if (!/Comment|String/.test(syntaxTree(view.state).resolveInner(from, 1).name)) {
      add(from, to, match[1] ? KEYWORD : BUILTIN);
    }
  }
});

/** What CUDA adds to C++: __global__ and its kind, threadIdx and its kind, and functions such as __syncthreads. */
const WORDS = Prec.high(
  ViewPlugin.define(view => ({ shown: matcher.createDeco(view), update: recoloured }), {
    decorations: plugin => plugin.shown
  })
);

function recoloured(update) {
  const parsed = syntaxTree(update.state) !== syntaxTree(update.startState);
  this.shown = parsed ? matcher.createDeco(update.view) : matcher.updateDeco(update, this.shown);
}

/** Line numbers and the words of CUDA, which come and go with the magic; what C++ has is coloured by its mime type. */
function partsOfCuda(source) {
  const parts = new Compartment();
  const shown = cuda => (cuda ? [lineNumbers(), TYPES, WORDS] : []);
  return [
    parts.of(shown(isCuda(source))),
    EditorState.transactionExtender.of(transaction => {
      if (!transaction.docChanged) {
        return null;
      }
      const cuda = begins(transaction.newDoc);
      return cuda === begins(transaction.startState.doc) ? null : { effects: parts.reconfigure(shown(cuda)) };
    })
  ];
}

const FIRST_LINE = Decoration.line({ class: 'jp-CudaCell-magic' });
const MARKS = {
  error: Decoration.line({ class: 'jp-CudaCell-error' }),
  warning: Decoration.line({ class: 'jp-CudaCell-warning' })
};

const LOOKS = EditorView.baseTheme({
  '.jp-CudaCell-magic, .jp-CudaCell-magic *': {
    color: 'var(--jp-mirror-editor-meta-color) !important',
    fontWeight: 'normal !important'
  },
  '.jp-CudaCell-keyword': { color: 'var(--jp-mirror-editor-keyword-color)', fontWeight: 'bold' },
  '.jp-CudaCell-builtin': { color: 'var(--jp-mirror-editor-builtin-color)' },
  '.jp-CudaCell-error': {
    backgroundColor: 'color-mix(in srgb, var(--jp-error-color1) 16%, transparent)',
    boxShadow: 'inset 3px 0 var(--jp-error-color1)'
  },
  '.jp-CudaCell-warning': {
    backgroundColor: 'color-mix(in srgb, var(--jp-warn-color1) 16%, transparent)',
    boxShadow: 'inset 3px 0 var(--jp-warn-color1)'
  }
});

const magic = doc => (begins(doc) ? Decoration.set(FIRST_LINE.range(0)) : Decoration.none);

/** The line of the magic, which is no C++, in one colour. */
const MAGIC = StateField.define({
  create: state => magic(state.doc),
  update: (shown, transaction) => (transaction.docChanged ? magic(transaction.newDoc) : shown),
  provide: field => EditorView.decorations.from(field)
});

/** Marks on the lines that the cell's output names, until the cell is edited. */
function marksOfOutput(model) {
  const changed = StateEffect.define();
  const marks = doc => {
    if (!begins(doc) || model.isDisposed || model.isDirty) {
      return Decoration.none;
    }
    const named = namedLines(model.outputs.toJSON());
    const inside = [...named].filter(([line]) => line >= 1 && line <= doc.lines);
    return Decoration.set(inside.map(([line, severity]) => MARKS[severity].range(doc.line(line).from)), true);
  };
  const field = StateField.define({
    create: state => marks(state.doc),
    update: (shown, transaction) => {
      if (transaction.docChanged) {
        return Decoration.none;
      }
      return transaction.effects.some(effect => effect.is(changed)) ? marks(transaction.newDoc) : shown;
    },
    provide: field => EditorView.decorations.from(field)
  });
  const listener = ViewPlugin.define(view => {
    const outputs = model.outputs;
    const tell = () => {
      if (begins(view.state.doc)) {
        view.dispatch({ effects: changed.of(null) });
      }
    };
    outputs.changed.connect(tell);
    return { destroy: () => outputs.changed.disconnect(tell) };
  });
  return [field, listener];
}

const pictures = {
  id: 'gemm-course-cuda-cells:pictures',
  description: 'Pictures of the course on a dark page, and their alternative text.',
  autoStart: true,
  requires: [IRenderMimeRegistry],
  activate: (app, rendermime) => showPictures(rendermime)
};

const cudaCells = {
  id: 'gemm-course-cuda-cells:plugin',
  description: 'C++ colours, line numbers and marks in cells that begin with %%cuda.',
  autoStart: true,
  requires: [IEditorExtensionRegistry],
  activate: (app, editors) => {
    editors.addExtension({
      name: 'gemm-course-cuda-cells',
      factory: ({ model }) => {
        if (model.type !== 'code' || !model.outputs) {
          return null;
        }
        followMimeType(model);
        const source = model.sharedModel.getSource();
        return EditorExtensionRegistry.createImmutableExtension([
          partsOfCuda(source),
          MAGIC,
          marksOfOutput(model),
          LOOKS
        ]);
      }
    });
  }
};

const keys = {
  id: 'gemm-course-cuda-cells:keys',
  description: 'Arrow keys for the slider or the choice in focus.',
  autoStart: true,
  activate: leaveKeysToControls
};

const slides = {
  id: 'gemm-course-cuda-cells:slides',
  description: 'The slides of a notebook, at a size for a room.',
  autoStart: true,
  requires: [INotebookTracker],
  activate: offerSlides
};

const clean = {
  id: 'gemm-course-cuda-cells:clean',
  description: 'A notebook that was only opened is not marked as unsaved.',
  autoStart: true,
  requires: [INotebookTracker],
  activate: keepClean
};

const answers = {
  id: 'gemm-course-cuda-cells:answers',
  description: 'What answers a prediction stays closed until the learner has committed to it.',
  autoStart: true,
  requires: [INotebookTracker],
  activate: keepAnswersClosed
};

const back = {
  id: 'gemm-course-cuda-cells:back',
  description: 'What to do where controls have lost their kernel.',
  autoStart: true,
  requires: [INotebookTracker],
  activate: bringBack
};

const names = {
  id: 'gemm-course-cuda-cells:names',
  description: 'Names for sliders, buttons and choices, for those who hear the page.',
  autoStart: true,
  requires: [INotebookTracker],
  activate: nameControls
};

const looks = {
  id: 'gemm-course-cuda-cells:looks',
  description: 'Lines that are not too long to be read.',
  autoStart: true,
  activate: improveReading
};

export default [cudaCells, pictures, keys, slides, clean, answers, back, names, looks];
