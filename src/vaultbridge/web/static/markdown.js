// Renders Obsidian's Markdown as elements, each with the lines it came from. HTML in a note stays text; nothing is loaded.

import { el } from './dom.js';

const DEPTH = 10; // of nested quotes and lists; deeper ones are shown as text
const LINE = 10000; // the longest line that is searched for marks; a longer one is shown as text
const ITEM = /^(\s*)(?:[-*+]|(\d+)[.)])\s+(?:\[(.)\]\s+)?(.*)$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const FENCE = /^\s*(`{3,}|~{3,}|\$\$)(.*)$/;
const COLUMNS = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;
const UNDERLINE = /^ {0,3}(=+|-+)$/; // makes one line a heading; below several lines the app takes it for a rule or text
const STARTS = [/^\s*$/, /^ {0,3}#{1,6}\s/, /^\s*>/, ITEM, RULE, FENCE];
const INLINE = new RegExp([
  /(?<ticks>`+)(?<code>.+?)\k<ticks>(?!`)/, /(?<math>\$(?![\s$])(?:[^$\\]|\\.)*?(?<![\s\\])\$(?!\d))/, /\\(?<plain>[!-/:-@[-`{-~])/, /(?<raw>!?\[\[(?<target>[^[\]|]+)(?:\|(?<alias>[^[\]]*))?\]\])/,
  /!?\[(?<label>[^[\]]*)\]\((?<url><[^<>]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+"[^"]*")?\)/, /<?(?<bare>https?:\/\/[^\s<>"'`]+[^\s<>"'`.,:;!?)\]])>?/,
  /(?<strong>\*\*|__)(?=\S)(?<bold>.+?)(?<=\S)\k<strong>/, /~~(?<struck>.+?)~~/, /==(?<lit>.+?)==/, /%%(?<note>.*?)%%/,
  /(?<em>[*_])(?=\S)(?<leaning>[^*_]+?)(?<=\S)\k<em>(?![\p{L}\p{N}])/, /(?<![^\s(])(?<tag>#[\p{L}\p{N}_/-]*[\p{L}_/-][\p{L}\p{N}_/-]*)/,
].map((part) => part.source).join('|'), 'gu');

/** `options.link(raw, target, text)` creates the element for a link to a note or a file of the vault. */
function render(lines, options) {
  const rows = lines.map((text, index) => ({ text, line: index + 1 }));
  const end = rows[0]?.text.trimEnd() === '---' ? rows.findIndex((row, i) => i && row.text.trimEnd() === '---') : -1;
  if (end < 1) return blocks(rows, options, 0);
  const properties = rows.slice(1, end).map((row) => row.text).join('\n');
  const head = el('details', { ...at(rows.slice(0, end + 1)) }, el('summary', {}, 'Properties'), el('pre', {}, properties));
  return [head, ...blocks(rows.slice(end + 1), options, 0)];
}

const at = (rows) => ({ 'data-line': rows[0].line, 'data-end': rows.at(-1).line });
const textOf = (rows) => rows.map((row) => row.text).join('\n');

function blocks(rows, options, depth) {
  if (depth > DEPTH) return rows.length ? [el('pre', at(rows), textOf(rows))] : [];
  const out = [];
  for (let i = 0; i < rows.length; ) {
    const from = i;
    const { text } = rows[i];
    const take = (more) => { do i++; while (i < rows.length && more(rows[i].text)); return rows.slice(from, i); };
    const fence = FENCE.exec(text);
    const under = UNDERLINE.exec(rows[i + 1]?.text ?? '');
    const heading = /^ {0,3}(#{1,6})\s+(.*?)(?:\s+#+)?\s*$/.exec(text);
    if (!text.trim()) i++;
    else if (fence) {
      const close = new RegExp(`^\\s*[${fence[1][0]}]{${fence[1].length},}\\s*$`);
      const body = fence[1] === '$$' && fence[2].includes('$$') ? take(() => false) : take((line) => !close.test(line));
      i = Math.min(i + 1, rows.length);
      out.push(el('pre', at(rows.slice(from, i)), el('code', {}, textOf(body.slice(1)) || text)));
    } else if (heading) out.push(el(`h${Math.min(6, heading[1].length + 2)}`, at(take(() => false)), ...inline(heading[2], options)));
    else if (under && !STARTS.some((start) => start.test(text)))
      out.push(el(under[1][0] === '=' ? 'h3' : 'h4', at(rows.slice(from, (i += 2))), ...inline(text, options)));
    else if (RULE.test(text)) out.push(el('hr', at(take(() => false))));
    else if (/^\s*>/.test(text)) out.push(quote(take((line) => /^\s*>/.test(line)), options, depth));
    else if (ITEM.test(text)) out.push(list(take((line) => ITEM.test(line) || /^\s+\S/.test(line)), options, depth));
    else if (text.includes('|') && COLUMNS.test(rows[i + 1]?.text ?? '')) out.push(table(take((line) => line.includes('|')), options));
    else {
      const body = take((line) => !STARTS.some((start) => start.test(line)));
      const lines = body.flatMap((row, n) => [...(n ? [el('br')] : []), el('span', at([row]), ...inline(row.text, options))]);
      out.push(el('p', at(body), ...lines));
    }
  }
  return out;
}

function quote(rows, options, depth) {
  const inner = rows.map((row) => ({ ...row, text: row.text.replace(/^\s*> ?/, '') }));
  const callout = /^\[!([\w-]+)\][+-]?\s*(.*)$/.exec(inner[0].text);
  if (!callout) return el('blockquote', at(rows), ...blocks(inner, options, depth + 1));
  const title = el('p', at([rows[0]]), el('strong', {}, ...inline(callout[2] || callout[1], options)));
  return el('blockquote', { class: 'callout', ...at(rows) }, title, ...blocks(inner.slice(1), options, depth + 1));
}

function list(rows, options, depth) {
  const own = rows[0].text.search(/\S/);
  const items = [];
  for (const row of rows)
    if (ITEM.test(row.text) && row.text.search(/\S/) <= own) items.push([row]);
    else items.at(-1).push({ ...row, text: row.text.slice(Math.min(own + 1, row.text.search(/\S/))) });
  return el(ITEM.exec(rows[0].text)[2] ? 'ol' : 'ul', at(rows), ...items.map((item) => {
    const [, , number, done, text] = ITEM.exec(item[0].text);
    const box = done ? el('input', { type: 'checkbox', disabled: true, checked: done !== ' ', 'aria-label': done === ' ' ? 'to do' : 'done' }) : '';
    const node = el('li', { ...at(item), class: done ? 'task' : '' }, box, el('span', at([item[0]]), ...inline(text, options)), ...blocks(item.slice(1), options, depth + 1));
    if (number) node.value = Number(number);
    return node;
  }));
}

function table(rows, options) {
  const cells = (row) => row.text.trim().replace(/^\||(?<!\\)\|$/g, '').split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
  const line = (row, tag) => el('tr', at([row]), ...cells(row).map((cell) => el(tag, {}, ...inline(cell, options))));
  return el('div', { class: 'scroll' }, el('table', at(rows), el('thead', {}, line(rows[0], 'th')), el('tbody', {}, ...rows.slice(2).map((row) => line(row, 'td')))));
}

function inline(text, options, depth = 0) {
  if (text.length > LINE || depth > DEPTH) return [text];
  const out = [];
  let from = 0;
  for (const found of text.matchAll(INLINE)) {
    out.push(text.slice(from, found.index), mark(found[0], found.groups, options, depth));
    from = found.index + found[0].length;
  }
  return [...out, text.slice(from)];
}

function mark(all, g, options, depth) {
  const deeper = (tag, text) => el(tag, {}, ...inline(text, options, depth + 1));
  if (g.code !== undefined) return el('code', {}, g.code);
  if (g.math !== undefined) return el('code', {}, g.math);
  if (g.plain !== undefined) return g.plain;
  if (g.target !== undefined) return options.link(g.raw, g.target, g.alias || g.target.replaceAll('#', ' › '));
  if (g.label !== undefined) return link(all, g.url.replace(/^<|>$/g, ''), g.label, options);
  if (g.bare !== undefined) return link(all, g.bare, g.bare, options);
  if (g.bold !== undefined) return deeper('strong', g.bold);
  if (g.struck !== undefined) return deeper('s', g.struck);
  if (g.lit !== undefined) return deeper('mark', g.lit);
  if (g.note !== undefined) return el('span', { class: 'quiet' }, all);
  return g.leaning !== undefined ? deeper('em', g.leaning) : el('span', { class: 'tag' }, g.tag);
}

/** Web links open in a new tab and show their address; other schemes stay text; all else is a file of the vault. */
function link(all, url, text, options) {
  if (/^(https?:\/\/|mailto:)/i.test(url) && URL.canParse(url))
    return el('a', { href: url, target: '_blank', rel: 'noopener noreferrer', title: url }, text || url);
  if (/^[a-z][a-z\d+.-]*:/i.test(url) || !url) return all;
  let target = url;
  try { target = decodeURIComponent(url); } catch { /* a stray % is part of the name */ }
  return options.link(all, target, text || target);
}

export { render };
