// Formulas as MathML, which browsers draw and screen readers read. Loaded when a note has the first one.

import temml from 'temml';
import { sanitizeMath } from './sanitize';

const TEX_CHARS = 5000; // a longer formula stays text

/** A formula as elements, or null when it is no valid TeX: its text is shown then. */
export function renderMath(tex: string, display: boolean): DocumentFragment | null {
  if (tex.length > TEX_CHARS) return null;
  try {
    const mathml = temml.renderToString(tex, { displayMode: display, throwOnError: true, trust: false, maxSize: [20, 20], maxExpand: 500 });
    // The page's policy applies no inline style; without them there is nothing to complain about.
    return sanitizeMath(mathml.replace(/ style="[^"]*"/g, ''));
  } catch {
    return null;
  }
}
