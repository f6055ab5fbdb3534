// The slides of a notebook over JupyterLab, at a size for a room: a title, a few words, and the notebook's own output,
// alive. Nothing of a show is kept: not in the settings, not in the notebook. What the slides say comes from the
// notebook's kernel, `helpers.slides.live`.

import { InputDialog, showErrorMessage, ToolbarButton } from '@jupyterlab/apputils';
import { NotebookActions } from '@jupyterlab/notebook';
import { OutputAreaModel, SimplifiedOutputArea } from '@jupyterlab/outputarea';
import { Widget } from '@lumino/widgets';

const WIDTH = 1280; // CSS pixels of a slide, as in slide.css
const HEIGHT = 720;
const LARGEST = 2; // times the size that an output has in the notebook
const LARGEST_LETTERS = 36; // pixels to which a listing or a table grows, as on a hand-out (start.js)
const SMALLEST_LETTERS = 18; // to which a table shrinks
const LARGEST_PLAIN = 56; // of drawings and of printed text
const WRAPPED = 40; // of printed lines at most, where they go on in the next line
const WHOLE = 34; // of few printed lines at least, where they do not
const FEW_LINES = 3;
const WIDER = 1.2; // than the slide, of a table that is shown smaller rather than in broken rows
const SHORT = 12; // letters of a table's cell that stays in one line, as a number or a shape does
const NUMBER = /^[\d\s.,%×+−-]*$/;
const READABLE = 26; // pixels of a table up to which short cells may break
const PRINTED = 'application/vnd.jupyter.stdout';
const COLOURS = /\x1b\[[0-9;]*m/g;
const LOOKS = `
.jp-CourseShow { position: fixed; inset: 0; z-index: 10000; overflow: hidden; background: #fff; outline: none; }
.jp-CourseShow .course-slide { position: absolute; transform-origin: 0 0; }
.jp-CourseShow .jp-OutputPrompt, .jp-CourseShow .jp-OutputArea-promptOverlay { display: none; }
.jp-CourseShow .course-slide code { font-size: .88em; }
.jp-CourseShow-aside { display: none; }
.jp-CourseShow .jp-CourseShow-live { width: fit-content; }
.jp-CourseShow .jp-CourseShow-live :is(pre, pre *) { white-space: pre; overflow-wrap: normal; word-break: normal; }
.jp-CourseShow .film { --jp-widgets-font-size: 24px; --jp-widgets-inline-height: 42px; }
.jp-CourseShow .film .gemm-explorer .widget-readout { font-size: 24px; height: 42px; line-height: 42px; }
.jp-CourseShow .film :is(.widget-hslider, .widget-dropdown) { width: 760px !important; }
.jp-CourseShow .film .widget-hslider .widget-label { width: auto !important; margin-right: 12px; }
.jp-CourseShow .ask .gemm-committed .widget-radio { display: none; } /* the answer repeats the options with their reasons */
.jp-CourseShow .ask .jp-CourseShow-live { width: 1168px; }
.jp-CourseShow .ask .gemm-prediction .widget-html { width: auto !important; }
.jp-CourseShow .ask img.jp-CoursePicture { display: none; } /* a slide of its own shows it, in letters for a room */
.jp-CourseShow .ask .jupyter-button { width: auto !important; padding: 0 16px; }
.jp-CourseShow .ask .widget-radio-box label { display: flex; align-items: center; }
.jp-CourseShow .ask .widget-radio-box input { order: -1; width: 24px; height: 24px; margin: 0 14px 0 0; }
.jp-CourseShow :is(.ask, .table) .jp-CourseShow-live {
  --jp-content-font-size1: 25px; --jp-widgets-font-size: 25px; --jp-code-font-size: 24px;
  --jp-widgets-inline-height: 40px; --jp-widgets-radio-item-height-adjustment: 0px;
}
.jp-CourseShow .ask .jp-CourseShow-live {
  --jp-content-font-size1: 32px; --jp-widgets-font-size: 32px; --jp-widgets-inline-height: 50px;
}
.jp-CourseShow :is(.ask, .table) .jp-CourseShow-live * { line-height: 1.4; }
.jp-CourseShow .ask .widget-radio-box label { font-size: 32px; height: auto; }
.jp-CourseShow .jp-CourseShow-page { position: absolute; right: 16px; bottom: 10px; font: 17px system-ui; color: #767676; }
[data-jp-theme-light='false'] .jp-CourseShow { background: #111; }
[data-jp-theme-light='false'] .course-slide {
  --ink: #ddd; --paper: #111; --soft: #262626; --filter: url(#course-dark);
}`;
const SPEAKER = `
body { font: 22px/1.45 system-ui, sans-serif; margin: 24px; color: #141414; background: #fff; }
h1 { font-size: 26px; margin: 0 0 4px; } .next { color: #5f5f5f; font-size: 18px; }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #111; } .next { color: #9d9d9d; } }`;

const CONTROLS = 'input, select, textarea, button, [role="slider"], [contenteditable="true"]';

function element(className, html = '') {
  const made = document.createElement('div');
  made.className = className;
  made.innerHTML = html;
  return made;
}

function text(words) {
  const made = document.createElement('span');
  made.textContent = words;
  return made.innerHTML;
}

class Show {
  /** show: its slides, and the notebook in which it goes on.  goOn: called behind the last slide, if it does. */
  constructor(panel, show, style, goOn) {
    this.panel = panel;
    this.slides = show.slides;
    this.then = show.then;
    this.goOn = goOn;
    this.at = -1;
    this.root = element('jp-CourseShow');
    this.root.tabIndex = -1;
    this.root.setAttribute('role', 'dialog');
    this.root.setAttribute('aria-label', 'Slides. Right and left go on and back, Escape ends the show.');
    this.style = document.createElement('style');
    this.style.textContent = style + LOOKS;
    this.onKey = event => this.key(event);
    this.onSize = () => this.fit();
    this.sizes = new ResizeObserver(() => this.fitOutput());
  }

  open() {
    document.head.append(this.style);
    document.body.append(this.root);
    document.addEventListener('keydown', this.onKey, true);
    window.addEventListener('resize', this.onSize);
    this.panel.disposed.connect(this.close, this);
    this.go(0);
  }

  close() {
    this.putBack();
    this.sizes.disconnect();
    this.speaker?.close();
    document.removeEventListener('keydown', this.onKey, true);
    window.removeEventListener('resize', this.onSize);
    this.panel.disposed.disconnect(this.close, this);
    this.root.remove();
    this.style.remove();
    if (document.fullscreenElement) {
      void document.exitFullscreen();
    }
  }

  key(event) {
    const inControl = event.target instanceof Element && event.target.closest('.jp-CourseShow') && event.target.matches(CONTROLS);
    const keys = { Escape: () => this.close(), PageDown: () => this.go(this.at + 1), PageUp: () => this.go(this.at - 1) };
    if (!inControl) {
      Object.assign(keys, {
        ArrowRight: keys.PageDown,
        ' ': event.shiftKey ? keys.PageUp : keys.PageDown,
        ArrowLeft: keys.PageUp,
        Home: () => this.go(0),
        End: () => this.go(this.slides.length - 1),
        f: () => (document.fullscreenElement ? document.exitFullscreen() : this.root.requestFullscreen()),
        s: () => this.openSpeaker()
      });
    }
    if (!inControl || keys[event.key]) {
      event.stopPropagation(); // JupyterLab's own keys would reach the notebook below
    }
    if (keys[event.key] && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      keys[event.key]();
    }
  }

  go(number) {
    if (number === this.slides.length && this.then) {
      this.close();
      this.goOn();
      return;
    }
    if (number < 0 || number >= this.slides.length || number === this.at) {
      return;
    }
    this.putBack();
    this.at = number;
    const slide = this.slides[number];
    const opening = slide.kind === 'opening';
    this.stage = element(`course-slide${opening ? ' opening' : ''}`, `<h1>${text(slide.title)}</h1>`);
    if (slide.words) {
      this.stage[opening ? 'prepend' : 'append'](element('words', slide.words));
    }
    this.shown = element(`shown ${slide.kind}`, slide.html);
    const after = this.then && number === this.slides.length - 1 ? ` · → notebook ${text(this.then.title)}` : '';
    const page = element('jp-CourseShow-page', `${number + 1} / ${this.slides.length}${after}`);
    this.stage.append(...(opening ? [page] : [this.shown, page]));
    this.root.replaceChildren(this.stage);
    this.fit();
    this.shown.querySelectorAll('pre, table').forEach(part => this.grow(part));
    if (slide.cell) {
      void this.takeOutput(slide);
    } else if (slide.draw) {
      void this.draw(slide.draw);
    }
    this.root.focus();
    this.tellSpeaker();
  }

  /** What the kernel draws for this slide: a picture in letters for a room, or an explorer with one control. */
  async draw(code) {
    const at = this.at;
    const { rendermime } = this.panel.content;
    const area = new SimplifiedOutputArea({ model: new OutputAreaModel({ trusted: true }), rendermime });
    area.future = this.panel.sessionContext.session.kernel.requestExecute({ code, store_history: false });
    await area.future.done;
    if (this.at !== at || !this.root.isConnected) {
      area.dispose();
      return;
    }
    this.drawn = area;
    this.live = element('jp-CourseShow-live');
    this.shown.append(this.live);
    Widget.attach(area, this.live);
    this.sizes.observe(this.live);
    this.fitOutput();
  }

  /** The output of the slide's cell, itself and not a copy: sliders in it keep working. It goes back when the slide does. */
  async takeOutput({ cell: source, output, columns }) {
    const at = this.at;
    const cells = this.panel.content.widgets;
    const cell = cells.find(one => one.model.sharedModel.getSource().trim() === source.trim());
    if (!cell?.outputArea) {
      this.shown.append(element('', 'The cell of this slide was changed or taken away in the notebook.'));
      return;
    }
    if (!cell.outputArea.model.length || cell.outputArea.node.querySelector('details')) {
      this.panel.content.activeCellIndex = cells.indexOf(cell);
      await NotebookActions.run(this.panel.content, this.panel.sessionContext);
    }
    if (this.at !== at || !this.root.isConnected) {
      return;
    }
    if (output === 'pre') {
      this.print(cell.outputArea.model);
      return;
    }
    this.closed = cell.outputHidden && cell; // an answer that nobody has opened in the notebook
    cell.outputHidden = false;
    this.output = cell.outputArea.node;
    this.place = document.createComment('on a slide');
    this.output.replaceWith(this.place);
    this.live = element('jp-CourseShow-live');
    this.live.append(this.output);
    const outputs = [...this.output.querySelectorAll('.jp-OutputArea-child')];
    const wanted = output && outputs.find(one => one.querySelector(output));
    this.aside = wanted ? outputs.filter(one => one !== wanted) : [];
    this.aside.forEach(one => one.classList.add('jp-CourseShow-aside'));
    this.shown.append(this.live);
    if (output === 'table') {
      this.keepColumns(columns);
      this.keepRows();
    }
    this.sizes.observe(this.live);
    this.fitOutput();
  }

  /** Of a table these columns, counted from 1, or all if none is named. */
  keepColumns(columns) {
    const others = columns.map(number => `:not(:nth-child(${number}))`).join('');
    const style = document.createElement('style');
    style.textContent = others && `.jp-CourseShow .table :is(th, td)${others} { display: none; }`;
    this.stage.append(style);
  }

  /** A table whose rows fit in one line each, in letters that are not much smaller, has them so. */
  keepRows() {
    this.live.style.width = 'max-content';
    if (this.live.offsetWidth > WIDER * this.shown.clientWidth) {
      this.live.style.width = '';
    }
  }

  /** The first text that the cell printed, a line each. */
  print(outputs) {
    const texts = Array.from({ length: outputs.length }, (_, number) => outputs.get(number).data[PRINTED]);
    const lines = (texts.find(Boolean) ?? '').replace(COLOURS, '').trimEnd().split('\n');
    const printed = document.createElement('pre');
    printed.className = 'printed';
    printed.innerHTML = lines.map(line => `<span>${text(line)}\n</span>`).join('');
    this.shown.append(printed);
    this.grow(printed);
  }

  putBack() {
    this.sizes.disconnect();
    this.place?.replaceWith(this.output);
    this.aside?.forEach(one => one.classList.remove('jp-CourseShow-aside'));
    if (this.closed) {
      this.closed.outputHidden = true;
    }
    if (this.drawn) {
      Widget.detach(this.drawn);
      this.drawn.dispose();
    }
    this.place = this.output = this.aside = this.live = this.closed = this.drawn = null;
  }

  fit() {
    const scale = Math.min(window.innerWidth / WIDTH, window.innerHeight / HEIGHT);
    const left = (window.innerWidth - scale * WIDTH) / 2;
    const top = (window.innerHeight - scale * HEIGHT) / 2;
    this.stage.style.transform = `translate(${left}px, ${top}px) scale(${scale})`;
  }

  grow(part) {
    if (part.matches('pre.printed')) {
      this.growPrinted(part);
    } else if (part.matches('table')) {
      this.growTable(part);
    } else {
      this.sized(part, part.matches('pre.drawing') ? LARGEST_PLAIN : LARGEST_LETTERS);
    }
  }

  growPrinted(part) {
    const lines = part.childElementCount;
    part.style.whiteSpace = 'pre';
    if (this.sized(part, LARGEST_PLAIN) >= (lines > FEW_LINES ? 1 : WHOLE)) {
      return;
    }
    part.style.whiteSpace = '';
    this.sized(part, lines > 1 ? WRAPPED : LARGEST_PLAIN);
  }

  growTable(table) {
    const cells = [...table.querySelectorAll('td, th')].map(cell => [cell, cell.textContent.trim()]);
    const short = cells.filter(([, words]) => words.length <= SHORT || NUMBER.test(words));
    const keep = (space, largest) => {
      short.forEach(([cell]) => {
        cell.style.whiteSpace = space;
      });
      return this.sized(table, largest, true);
    };
    const size = keep('nowrap', LARGEST_LETTERS);
    if (size < READABLE && keep('', READABLE) <= size) {
      keep('nowrap', LARGEST_LETTERS);
    }
  }

  /** Make letters as large as fits the slide, at most so many pixels; their size, 0 if not even their own fits. */
  sized(part, largest, shrinks = false) {
    const { shown } = this;
    const fits = () => shown.scrollHeight <= shown.clientHeight && shown.scrollWidth <= shown.clientWidth;
    const set = pixels => {
      part.style.fontSize = `${pixels}px`;
    };
    part.style.fontSize = '';
    let size = parseFloat(getComputedStyle(part).fontSize);
    while (shrinks && size > SMALLEST_LETTERS && !fits()) {
      set((size -= 1));
    }
    if (!fits()) {
      return 0;
    }
    while (size < largest && fits()) {
      set((size += 1));
    }
    if (!fits()) {
      set((size -= 1));
    }
    return size;
  }

  fitOutput() {
    if (this.live) {
      const { offsetWidth, offsetHeight } = this.live;
      const room = Math.min(this.shown.clientWidth / offsetWidth, this.shown.clientHeight / offsetHeight, LARGEST);
      this.live.style.transformOrigin = '0 0';
      this.live.style.transform = `scale(${room})`;
    }
  }

  openSpeaker() {
    this.speaker = window.open('', 'course-speaker', 'popup,width=760,height=560');
    this.tellSpeaker();
  }

  tellSpeaker() {
    if (!this.speaker || this.speaker.closed) {
      return;
    }
    const before = this.slides.slice(0, this.at + 1).reverse();
    const notes = before.find(slide => slide.notes)?.notes ?? '';
    const next = this.slides[this.at + 1]?.title ?? (this.then ? `notebook ${this.then.title}` : 'the end');
    const { document: page } = this.speaker;
    page.title = 'For the speaker';
    page.head.innerHTML = `<title>For the speaker</title><style>${SPEAKER}</style>`;
    page.body.innerHTML =
      `<h1>${this.at + 1} · ${text(this.slides[this.at].title)}</h1>` +
      `<p class="next">then: ${text(next)}</p>${notes}`;
  }
}

/** What the notebook's kernel says of its shows. Throws an Error whose message is a sentence. */
async function asked(panel) {
  const kernel = panel.sessionContext.session?.kernel;
  if (!kernel) {
    throw new Error('The notebook has no kernel that could tell its slides. Choose one, and press Slides again.');
  }
  const name = panel.context.path.split('/').pop();
  const told = `__import__("helpers.slides.live", fromlist=["slides"]).slides(${JSON.stringify(name)})`;
  const reply = await kernel.requestExecute({ code: '', silent: true, user_expressions: { told } }).done;
  const answer = reply.content.user_expressions?.told;
  if (answer?.status !== 'ok') {
    throw new Error(`The notebook's kernel cannot tell its slides: ${answer?.evalue ?? reply.content.evalue}`);
  }
  const found = answer.data['application/json'];
  if (!found.shows.length) {
    throw new Error(`Nobody has said any slides for ${name}. They stand in the folder slides beside the notebooks.`);
  }
  return found;
}

/** The show that was chosen of a notebook's: the only one, a workshop's, or what the person picks; null for none. */
async function chosen(shows, route) {
  if (route || shows.length === 1) {
    return shows.find(show => show.route === route) ?? null;
  }
  const items = shows.map(show => show.name);
  const picked = await InputDialog.getItem({ title: 'Slides', label: 'Which slides?', items, okLabel: 'Show' });
  return shows[items.indexOf(picked.value)] ?? null;
}

/** A button "Slides" in the toolbar of each notebook, and the command behind it. */
export function offerSlides(app, tracker) {
  const present = async (panel, route) => {
    try {
      const { shows, style } = await asked(panel);
      const show = await chosen(shows, route);
      if (show) {
        new Show(panel, show, style, () => goOn(panel, show)).open();
      }
    } catch (error) {
      void showErrorMessage('Slides', error.message);
    }
  };
  /** Open the notebook in which a workshop goes on, which lies beside this one, and show its part of the workshop. */
  const goOn = async (panel, { then, route }) => {
    const folder = panel.context.path.split('/').slice(0, -1);
    const next = await app.commands.execute('docmanager:open', { path: [...folder, then.file].join('/') });
    await next?.context.ready;
    await next?.sessionContext.ready;
    if (next) {
      await present(next, route);
    }
  };
  app.commands.addCommand('course:slides', {
    label: 'Show the Slides of the Notebook',
    isEnabled: () => tracker.currentWidget !== null,
    execute: () => present(tracker.currentWidget)
  });
  tracker.widgetAdded.connect((_, panel) => {
    const tooltip = 'Show the slides of this notebook, or those of a workshop: run all its cells first. Escape ends the show.';
    panel.toolbar.addItem('course-slides', new ToolbarButton({ label: 'Slides', tooltip, onClick: () => present(panel) }));
  });
}
