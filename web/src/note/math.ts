// Formulas as MathML, which browsers draw and screen readers read. Loaded when a note contains one.

import temml from 'temml';
import { sanitizeMath } from './sanitize';

const MAX_CHARS = 5000; // a longer formula stays text

/** A formula as elements, or null if it is not valid TeX: then its text is shown. */
export function renderMath(tex: string, display: boolean): DocumentFragment | null {
  if (tex.length > MAX_CHARS) return null;
  try {
    const mathml = temml.renderToString(tex, { displayMode: display, throwOnError: true, trust: false, maxSize: [20, 20], maxExpand: 500 });
    // The page's policy forbids inline styles, and would report each.
    return sanitizeMath(mathml.replace(/ style="[^"]*"/g, ''));
  } catch {
    return null;
  }
}
