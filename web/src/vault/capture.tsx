// Capture: writes a thought into today's note, and is ready for the next one. `#/capture`, the shortcut of the installed page.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { api } from '../lib/api';
import { useTitle } from '../lib/hooks';
import { notify, notifyError } from '../lib/notices';
import { titleOf } from '../lib/paths';
import { href, navigate } from '../lib/router';
import { loadFiles } from './files';
import type { Saved } from './model';

const DRAFT_KEY = 'capture'; // what is typed survives a reload

export function Capture(): JSX.Element {
  useTitle('Capture');
  const [text, setText] = useState(localStorage.getItem(DRAFT_KEY) ?? '');
  const [isBusy, setBusy] = useState(false);
  const change = (value: string): void => {
    setText(value);
    localStorage.setItem(DRAFT_KEY, value);
  };
  const add = async (event?: Event): Promise<void> => {
    event?.preventDefault();
    if (!text.trim() || isBusy) return;
    setBusy(true);
    try {
      const { path } = await api<Saved>('today', { body: { text: text.trimEnd() } });
      change('');
      notify(`Added to ${titleOf(path)}.`, 'good', { label: 'Open', run: () => navigate(href('note', path)) });
      void loadFiles();
    } catch (error) {
      notifyError(error);
    }
    setBusy(false);
  };
  return (
    <form class="page capture" onSubmit={(event) => void add(event)}>
      <h1>Capture</h1>
      <label for="capture-text" class="quiet">Added at the end of today’s note</label>
      <textarea id="capture-text" rows={5} autofocus value={text} onInput={(event) => change(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && void add(event)} />
      <p class="buttons"><button type="submit" class="accept" disabled={isBusy || !text.trim()}>Add</button><span class="quiet keys-only"><kbd>Ctrl</kbd>+<kbd>Enter</kbd></span></p>
    </form>
  );
}
