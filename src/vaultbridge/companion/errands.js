// Errands: what the bridge asks the app to do.

/** Show a note, and select what is asked. @param {import('obsidian').App} app
 * @param {{path: string, selection?: Range, preview?: boolean, front?: boolean}} wanted */
async function openNote(app, { path, selection, preview = false, front = true }) {
  const file = app.vault.getFileByPath(path);
  if (!file) return false;
  let leaf = mainLeaves(app).find((one) => pathIn(one) === path);
  if (leaf) await leaf.loadIfDeferred();
  else {
    // In a tab of its own, so that it does not take the place of what the person has in front of them.
    leaf = app.workspace.getLeaf(preview ? false : 'tab');
    await leaf.openFile(file, { active: front });
  }
  if (front) {
    await app.workspace.revealLeaf(leaf);
    app.workspace.setActiveLeaf(leaf, { focus: true });
  }
  if (selection && leaf.view instanceof obsidian.MarkdownView) {
    const { editor } = leaf.view;
    const [from, to] = [selection.start, selection.end].map(({ line, character }) => {
      // The bridge counts in the file; the editor may hold another text.
      const row = Math.min(line, editor.lastLine());
      const end = editor.getLine(row).length;
      return { line: row, ch: row < line ? end : Math.min(character, end) };
    });
    editor.setSelection(from, to);
    editor.scrollIntoView({ from, to }, true);
  }
  return true;
}

/** Write what waits in an open note to its file, as the app itself would in a moment.
 * @param {import('obsidian').App} app @param {string} path */
async function saveNote(app, path) {
  const view = textViewOf(app, path);
  if (!view) return false;
  await view.save();
  return !(await isUnsaved(app, path));
}

/** A note as the person sees it: what is in its editor, else what is in its file; '' for one that is not there.
 * @param {import('obsidian').App} app @param {string} path */
async function currentText(app, path) {
  const view = textViewOf(app, path);
  if (view) return plain(view.getViewData());
  const file = app.vault.getFileByPath(path);
  return file ? plain(await app.vault.read(file)) : '';
}
