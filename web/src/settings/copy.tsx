// A button that copies a text.

import type { JSX } from 'preact';
import { notify } from '../lib/ui';

export function Copy({ text, what }: { text: string; what: string }): JSX.Element {
  const copy = (): void => {
    navigator.clipboard?.writeText(text).then(
      () => notify('Copied.'),
      () => notify('The browser did not allow copying. Select the text and copy it yourself.', 'bad'),
    );
  };
  return <button type="button" onClick={copy} aria-label={`Copy ${what}`}>Copy</button>;
}
