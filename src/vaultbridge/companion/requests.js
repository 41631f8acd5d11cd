// What the bridge can request of the app.

/** Opens a note, and selects the requested range. @param {import('obsidian').App} app
 * @param {{path: string, selection?: Range, preview?: boolean, front?: boolean}} options */
async function openNote(app, { path, selection, preview = false, front = true }) {
  const file = app.vault.getFileByPath(path);
  if (!file) return false;
  let leaf = listMainLeaves(app).find((candidate) => pathOf(candidate) === path);
  if (leaf) await leaf.loadIfDeferred();
  else {
    // In a new tab, so that it does not replace what the person is looking at.
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
      // The bridge's positions are those of the file; the text in the editor may differ.
      const row = Math.min(line, editor.lastLine());
      const end = editor.getLine(row).length;
      return { line: row, ch: row < line ? end : Math.min(character, end) };
    });
    editor.setSelection(from, to);
    editor.scrollIntoView({ from, to }, true);
  }
  return true;
}

/** Saves the unsaved text of an open note, as the app itself would in a moment.
 * @param {import('obsidian').App} app @param {string} path */
async function saveNote(app, path) {
  const view = findTextView(app, path);
  if (!view) return false;
  await view.save();
  return !(await isUnsaved(app, path));
}
