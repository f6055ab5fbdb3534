// A notebook that was only opened is not unsaved: JupyterLab writes the kernel's version into it, and marks it as changed.

/** Take back the mark when the kernel has told its version, if the cells are still as they were when it was opened. */
export function keepClean(app, tracker) {
  const cells = panel => JSON.stringify(panel.content.model?.sharedModel.toJSON().cells);
  tracker.widgetAdded.connect(async (_, panel) => {
    await panel.context.ready;
    const opened = cells(panel);
    const clean = !panel.content.model.dirty;
    await panel.sessionContext.ready;
    await panel.sessionContext.session?.kernel?.info;
    await new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)));
    if (clean && !panel.isDisposed && cells(panel) === opened) {
      panel.content.model.dirty = false;
    }
  });
}
