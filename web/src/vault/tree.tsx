// The tree of files: only the rows in sight are drawn, so that 10,000 notes cost as much as 30.

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { href, navigate } from '../lib/router';
import { Failure, Icon, type IconName, Loading } from '../lib/ui';
import { useValue } from '../lib/value';
import { files, filesError, loadFiles } from './files';
import { kindOf, titleOf } from './types';

const ROW = 30; // px, as in vault.css
const BEYOND = 8; // rows drawn above and below those in sight

interface Folder {
  path: string;
  name: string;
  folders: Folder[];
  files: string[];
  count: number;
}

export interface Row {
  path: string;
  name: string;
  level: number;
  folder: boolean;
  open: boolean;
  count: number;
  place: number;
  size: number;
}

const TITLED = 24; // characters: a longer name may be cut, and is shown whole under the pointer
const DEEP = 8; // levels that are indented in full: the names of deeper ones would be pushed out of sight

const indent = (level: number): number => 0.5 + Math.min(level - 1, DEEP) * 0.95 + Math.max(0, level - 1 - DEEP) * 0.15;

const order = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });

/** The folders of a sorted list of paths. */
export function makeTree(paths: readonly string[]): Folder {
  const root: Folder = { path: '', name: '', folders: [], files: [], count: 0 };
  const known = new Map<string, Folder>([['', root]]);
  const find = (path: string): Folder => {
    const found = known.get(path);
    if (found) return found;
    const cut = path.lastIndexOf('/');
    const parent = find(cut < 0 ? '' : path.slice(0, cut));
    const made: Folder = { path, name: path.slice(cut + 1), folders: [], files: [], count: 0 };
    parent.folders.push(made);
    known.set(path, made);
    return made;
  };
  for (const path of paths) {
    const cut = path.lastIndexOf('/');
    const folder = cut < 0 ? '' : path.slice(0, cut);
    find(folder).files.push(path);
    for (let at = folder; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) {
      find(at).count++;
      if (!at) break;
    }
  }
  return root;
}

const sorted = new WeakMap<Folder, { folders: Folder[]; files: string[] }>();

/** A folder's content in the order of its names; sorted when it is first opened. */
function contentOf(folder: Folder): { folders: Folder[]; files: string[] } {
  let content = sorted.get(folder);
  if (!content) {
    const named = folder.files.map((path) => [titleOf(path), path] as const).sort((a, b) => order.compare(a[0], b[0]));
    content = { folders: [...folder.folders].sort((a, b) => order.compare(a.name, b.name)), files: named.map(([, path]) => path) };
    sorted.set(folder, content);
  }
  return content;
}

export function rowsOf(root: Folder, open: ReadonlySet<string>): Row[] {
  const rows: Row[] = [];
  const walk = (folder: Folder, level: number): void => {
    const { folders, files: own } = contentOf(folder);
    const size = folders.length + own.length;
    let place = 1;
    for (const child of folders) {
      rows.push({ path: child.path, name: child.name, level, folder: true, open: open.has(child.path), count: child.count, place: place++, size });
      if (open.has(child.path)) walk(child, level + 1);
    }
    for (const path of own) rows.push({ path, name: titleOf(path), level, folder: false, open: false, count: 0, place: place++, size });
  };
  walk(root, 1);
  return rows;
}

const OPEN_KEY = 'openFolders';

function remembered(): Set<string> {
  try {
    return new Set(JSON.parse(sessionStorage.getItem(OPEN_KEY) ?? '[]'));
  } catch {
    return new Set();
  }
}

export function parentsOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'));
}

const ICON: Partial<Record<ReturnType<typeof kindOf>, IconName>> = { canvas: 'canvas', base: 'base', image: 'image', audio: 'audio', pdf: 'file', file: 'file', video: 'file' };

export function Tree({ current }: { current: string }): JSX.Element {
  const all = useValue(files);
  const error = useValue(filesError);
  const [open, setOpen] = useState(remembered);
  const [at, setAt] = useState('');
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const pane = useRef<HTMLDivElement>(null);
  const root = useMemo(() => makeTree(all?.paths ?? []), [all]);
  const rows = useMemo(() => rowsOf(root, open), [root, open]);

  const change = (path: string, wanted: boolean) => {
    const next = new Set(open);
    if (wanted) next.add(path);
    else next.delete(path);
    setOpen(next);
    sessionStorage.setItem(OPEN_KEY, JSON.stringify([...next]));
  };

  useEffect(() => void loadFiles(), []);
  useEffect(() => {
    if (!current) return;
    const missing = parentsOf(current).filter((folder) => !open.has(folder));
    if (missing.length) setOpen(new Set([...open, ...missing]));
    setAt(current);
  }, [current]);
  // What is open in the view is in sight in the tree, also after its folders were opened for it.
  useLayoutEffect(() => {
    const index = rows.findIndex((row) => row.path === current);
    const node = pane.current;
    const isInSight = !!node && index * ROW >= node.scrollTop && (index + 1) * ROW <= node.scrollTop + node.clientHeight;
    // In the middle, so that what is around it can be seen too.
    if (node && index >= 0 && !isInSight) node.scrollTop = (index + 0.5) * ROW - node.clientHeight / 2;
  }, [current, all !== null && rows.some((row) => row.path === current)]);
  useLayoutEffect(() => {
    const node = pane.current;
    if (!node) return undefined;
    const watch = new ResizeObserver(() => setHeight(node.clientHeight));
    watch.observe(node);
    return () => watch.disconnect();
  }, [all !== null]);

  const reveal = (index: number) => {
    const node = pane.current;
    if (!node) return;
    if (index * ROW < node.scrollTop) node.scrollTop = index * ROW;
    else if ((index + 1) * ROW > node.scrollTop + node.clientHeight) node.scrollTop = (index + 1) * ROW - node.clientHeight;
  };

  if (!all) return error ? <Failure error={error} retry={() => void loadFiles()} /> : <Loading>Reading the list of files…</Loading>;
  if (!all.paths.length) return <p class="tree-empty quiet">{all.complete ? 'There is no file here yet. Create the first note with the button above.' : 'The vault is being read. Files appear here in a moment.'}</p>;

  const index = Math.max(0, rows.findIndex((row) => row.path === at));
  const press = (event: KeyboardEvent) => {
    const row = rows[index];
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    const go = (to: number) => {
      const next = rows[Math.min(Math.max(to, 0), rows.length - 1)];
      if (next) setAt(next.path);
      reveal(Math.min(Math.max(to, 0), rows.length - 1));
    };
    const page = Math.max(1, Math.floor(height / ROW) - 1);
    const acts: Record<string, () => void> = {
      ArrowDown: () => go(index + 1),
      ArrowUp: () => go(index - 1),
      PageDown: () => go(index + page),
      PageUp: () => go(index - page),
      Home: () => go(0),
      End: () => go(rows.length - 1),
      ArrowRight: () => (row.folder && !row.open ? change(row.path, true) : go(index + 1)),
      ArrowLeft: () => (row.folder && row.open ? change(row.path, false) : go(rows.findLastIndex((above, i) => i < index && above.level < row.level))),
      Enter: () => (row.folder ? change(row.path, !row.open) : navigate(href('note', row.path))),
      ' ': () => row.folder && change(row.path, !row.open),
    };
    const act = acts[event.key];
    if (act) {
      event.preventDefault();
      act();
    } else if (/^[^\s/?]$/u.test(event.key)) {
      // A letter searches for a name here, and is not a shortcut of the note next to the tree.
      event.preventDefault();
      const letter = event.key.toLowerCase();
      const next = [...rows.slice(index + 1), ...rows.slice(0, index + 1)].find((candidate) => candidate.name.toLowerCase().startsWith(letter));
      if (next) go(rows.indexOf(next));
    }
  };

  const first = Math.max(0, Math.floor(top / ROW) - BEYOND);
  const drawn = rows.slice(first, Math.ceil((top + height) / ROW) + BEYOND);
  const active = drawn.some((row) => row.path === rows[index]?.path) ? `row-${index}` : undefined;
  return (
    <div class="tree" ref={pane} role="tree" aria-label="Files" tabIndex={0} aria-activedescendant={active}
      onKeyDown={press} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
      <div role="presentation" style={{ height: `${rows.length * ROW}px` }}>
        {drawn.map((row, i) => {
          const number = first + i;
          return (
            <div key={`${row.folder}${row.path}`} id={`row-${number}`} role="treeitem" class="row" data-path={row.path} aria-level={row.level}
              aria-expanded={row.folder ? row.open : undefined} aria-setsize={row.size} aria-posinset={row.place}
              aria-current={row.path === current && !row.folder ? 'page' : undefined} aria-selected={number === index}
              style={{ top: `${number * ROW}px`, paddingLeft: `${indent(row.level)}rem` }}
              onClick={(event) => {
                setAt(row.path);
                if (row.folder) change(row.path, !row.open);
                else if (event.ctrlKey || event.metaKey) open_(row.path);
                else navigate(href('note', row.path));
              }}
              onAuxClick={(event) => event.button === 1 && !row.folder && open_(row.path)}>
              <Icon name={row.folder ? (row.open ? 'down' : 'right') : (ICON[kindOf(row.path)] ?? 'note')} />
              <span class="row-name" title={row.name.length > TITLED ? row.name : undefined}><bdi>{row.name}</bdi></span>
              {row.folder ? <span class="row-count">{row.count}<span class="hidden-text"> files</span></span> : kindOf(row.path) !== 'note' && <span class="row-kind">{row.path.split('.').at(-1)}</span>}
            </div>
          );
        })}
      </div>
    </div>
  );
}

const open_ = (path: string): void => void window.open(href('note', path), '_blank');
