// A button that copies a text.

import type { JSX } from 'preact';
import { copyText } from '../lib/ui';

export function Copy({ text, what }: { text: string; what: string }): JSX.Element {
  return <button type="button" onClick={() => copyText(text)} aria-label={`Copy ${what}`}>Copy</button>;
}
