// A command or a secret, with a button that copies it.

import type { JSX } from 'preact';
import { copyText } from './notices';

/** `what` is copied, for screen readers: "the command". */
export function CopyableCode({ text, what }: { text: string; what: string }): JSX.Element {
  return <p class="copyable"><code>{text}</code><button type="button" onClick={() => copyText(text)} aria-label={`Copy ${what}`}>Copy</button></p>;
}
