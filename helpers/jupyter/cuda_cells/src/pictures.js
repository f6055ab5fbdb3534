// Pictures of the course: their colours on a dark page, and their alternative text, which JupyterLab leaves out.

import { imageRendererFactory, RenderedImage } from '@jupyterlab/rendermime';
import filter from './dark.svg';

const STYLE = `
@media not print {
  [data-jp-theme-light='false'] img:is(.jp-CoursePicture, .jp-OutputArea .widget-image) { filter: url(#course-dark); }
}`;

/** A picture that is stored with its words; a picture of somebody else has none, and is shown as ever. */
class Picture extends RenderedImage {
  async render(model) {
    await super.render(model);
    const { alt } = model.metadata['image/png'] ?? {};
    const image = this.node.querySelector('img');
    if (alt && image) {
      image.alt = alt;
      image.classList.add('jp-CoursePicture');
    }
  }
}

/** Follow light and dark from now on, and give every stored picture its words. */
export function showPictures(rendermime) {
  document.body.insertAdjacentHTML('beforeend', filter);
  const style = document.createElement('style');
  style.textContent = STYLE;
  document.head.append(style);
  rendermime.addFactory({
    ...imageRendererFactory,
    mimeTypes: ['image/png'],
    createRenderer: options => new Picture(options)
  });
}
