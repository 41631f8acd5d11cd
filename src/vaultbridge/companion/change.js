// A change that was made, shown on request.

/** Adds a button that shows what a change did to the notes, and hides it again.
 * @param {Dom} dom @param {Companion} companion @param {HTMLElement} row @param {number} change */
function addChangeToggle(dom, companion, row, change) {
  const { el, quiet } = dom;
  /** @type {HTMLElement | null} */
  let details = null;
  const button = dom.button('Show', () => void toggle(), { 'aria-label': `Show change ${change}`, 'aria-expanded': 'false' });
  const toggle = async () => {
    const isOpen = details !== null;
    details?.remove();
    details = isOpen ? null : el('div', {}, quiet('Loading…'));
    button.textContent = isOpen ? 'Show' : 'Hide';
    button.setAttribute('aria-expanded', String(!isOpen));
    if (!details) return;
    row.append(details);
    const container = details;
    try {
      const { files, moreFiles } = await companion.connection.request('change', { change });
      container.replaceChildren(...files.map((/** @type {ProposedFile} */ file) => drawChangedFile(dom, file)), ...(moreFiles ? [quiet(`And ${pluralize(moreFiles, 'more file')}.`)] : []));
    } catch (error) {
      container.replaceChildren(quiet(/** @type {Error} */ (error).message));
    }
  };
  row.append(' ', button);
}

/** @param {Dom} dom @param {ProposedFile} file */
function drawChangedFile(dom, file) {
  const { el, quiet } = dom;
  const lines = file.hunks.flatMap((hunk) => {
    const compared = compareHunkLines(hunk.lines);
    return hunk.lines.map((line, index) => drawLine(dom, /** @type {' ' | '-' | '+'} */ (line[0]), compared.get(index) ?? [[line.slice(1), false]]));
  });
  const rest = lines.length > MAX_LINES ? [quiet('The rest is not shown here.')] : [];
  const empty = file.text ? 'Its text stays the same, or is too long to show here.' : 'This is not a text file.';
  return el('section', { 'aria-label': file.path }, el('h5', {}, `${file.path} (${file.was && file.was !== file.path ? `moved from ${file.was}` : file.change})`),
    ...(lines.length ? [el('div', { class: 'vaultbridge-lines', tabindex: '0', role: 'region', 'aria-label': `Lines of ${file.path}` }, ...lines.slice(0, MAX_LINES))] : [quiet(empty)]), ...rest);
}
