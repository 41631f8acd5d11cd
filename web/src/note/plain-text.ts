// A line of Markdown without its markup, as a person would read it aloud: for search results, backlinks and outlines.

/** A part of a line, and whether it matches a search. */
export type LinePart = [text: string, isMatch: boolean];

/** What is removed from a line: all that the pattern matches, except its group `kept`. A replacement is put in its place. */
type Rule = [pattern: RegExp, replacement?: string];

const INLINE_RULES: Rule[] = [
  [/(?<=\[\[[^\]|]*)#\^?(?=[^\]|]*\]\])/dg, ' > '],
  [/!?\[\[(?:[^\]|]*\|)?(?<kept>[^\]]*)\]\]/dg],
  // A long line is cut, and that may be within a link.
  [/^[^[\]|]*\|(?<kept>[^[\]]*)\]\]/dg],
  [/!?\[\[(?:[^\]|]*\|)?(?<kept>[^\]]*)$/dg],
  [/\]\]/dg],
  [/!?\[(?<kept>[^\]]*)\]\([^)]*\)/dg],
  [/\*\*|__|==|~~|%%|`/dg],
  [/(?<!\w)(?<mark>[*_])(?=\S)(?<kept>[^*_]*\S)\k<mark>(?!\w)/dg],
];

const LINE_RULES: Rule[] = [
  ...INLINE_RULES,
  [/^\s*(?:[-*+>]\s+|#+\s+|\d+\.\s+|\|\s*)+(?:\[.\]\s+)?/dg],
  [/\s*\|\s*$/dg],
  [/\s*\|\s*/dg, ' · '],
  [/\s\^[\w-]+$/dg],
];

const [MATCH, OTHER] = ['1', '0'];

/** `mask` has a character for each one of `text`: MATCH or OTHER. */
interface MaskedText {
  text: string;
  mask: string;
}

function applyRule({ text, mask }: MaskedText, [pattern, replacement = '']: Rule): MaskedText {
  const result = { text: '', mask: '' };
  let at = 0;
  for (const { indices } of text.matchAll(pattern)) {
    const [start, end] = indices?.[0] ?? [0, 0];
    const kept = indices?.groups?.kept;
    const keptMask = kept ? mask.slice(...kept) : '';
    // If the search matched only what is removed, such as the target of a link, then the rest of the link is marked instead.
    const isMarkLost = mask.slice(start, end).includes(MATCH) && !keptMask.includes(MATCH);
    result.text += text.slice(at, start) + replacement + (kept ? text.slice(...kept) : '');
    result.mask += mask.slice(at, start) + OTHER.repeat(replacement.length) + (isMarkLost ? MATCH.repeat(keptMask.length) : keptMask);
    at = end;
  }
  return { text: result.text + text.slice(at), mask: result.mask + mask.slice(at) };
}

/** A line in parts, some of which match a search. */
export function stripLineParts(parts: LinePart[]): LinePart[] {
  const line = { text: parts.map(([text]) => text).join(''), mask: parts.map(([text, isMatch]) => (isMatch ? MATCH : OTHER).repeat(text.length)).join('') };
  const { text, mask } = LINE_RULES.reduce(applyRule, line);
  return [...mask.matchAll(/1+|0+/g)].map(({ 0: run, index }) => [text.slice(index, index + run.length), run.startsWith(MATCH)]);
}

const stripText = (text: string, rules: Rule[]): string => rules.reduce(applyRule, { text, mask: OTHER.repeat(text.length) }).text;

export const stripLine = (line: string): string => stripText(line, LINE_RULES);

/** The text of a block, such as a heading, where `1.` does not begin a list. */
export const stripInline = (text: string): string => stripText(text, INLINE_RULES);
