// The tree of files. Only visible rows are rendered, so that 10,000 notes cost no more than 30.

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Icon } from '../lib/icons';
import { iconOf, kindOf, titleOf } from '../lib/paths';
import { href, navigate } from '../lib/router';
import { Failure, Loading } from '../lib/states';
import { useStore } from '../lib/store';
import { files, filesError, loadFiles } from './files';

const ROW_HEIGHT = 30; // px, as in vault.css
const OVERSCAN = 8; // rows rendered above and below the visible ones

interface Folder {
  path: string;
  name: string;
  folders: Folder[];
  files: string[];
  count: number;
}

interface Row {
  path: string;
  name: string;
  level: number;
  isFolder: boolean;
  isOpen: boolean;
  /** Files in the folder and below it. */
  count: number;
  /** Its position among its siblings, from 1, and how many they are. */
  position: number;
  siblings: number;
}

const MAX_NAME_CHARS = 24; // a longer name may be cut, and is shown in full as a tooltip
const MAX_LEVELS = 8; // indented in full: names below them would be pushed out of view

const indentOf = (level: number): number => 0.5 + Math.min(level - 1, MAX_LEVELS) * 0.95 + Math.max(0, level - 1 - MAX_LEVELS) * 0.15;

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });

function makeTree(paths: readonly string[]): Folder {
  const root: Folder = { path: '', name: '', folders: [], files: [], count: 0 };
  const folders = new Map<string, Folder>([['', root]]);
  const getFolder = (path: string): Folder => {
    const existing = folders.get(path);
    if (existing) return existing;
    const cut = path.lastIndexOf('/');
    const parent = getFolder(cut < 0 ? '' : path.slice(0, cut));
    const folder: Folder = { path, name: path.slice(cut + 1), folders: [], files: [], count: 0 };
    parent.folders.push(folder);
    folders.set(path, folder);
    return folder;
  };
  for (const path of paths) {
    const cut = path.lastIndexOf('/');
    const folder = cut < 0 ? '' : path.slice(0, cut);
    getFolder(folder).files.push(path);
    for (let at = folder; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) {
      getFolder(at).count++;
      if (!at) break;
    }
  }
  return root;
}

const sortedContents = new WeakMap<Folder, { folders: Folder[]; files: string[] }>();

/** A folder's content, sorted by name when the folder is first opened. */
function sortContent(folder: Folder): { folders: Folder[]; files: string[] } {
  let content = sortedContents.get(folder);
  if (!content) {
    const titled = folder.files.map((path) => [titleOf(path), path] as const).sort((a, b) => collator.compare(a[0], b[0]));
    content = { folders: [...folder.folders].sort((a, b) => collator.compare(a.name, b.name)), files: titled.map(([, path]) => path) };
    sortedContents.set(folder, content);
  }
  return content;
}

function listRows(root: Folder, openFolders: ReadonlySet<string>): Row[] {
  const rows: Row[] = [];
  const walk = (folder: Folder, level: number): void => {
    const { folders, files: ownFiles } = sortContent(folder);
    const siblings = folders.length + ownFiles.length;
    let position = 1;
    for (const child of folders) {
      rows.push({ path: child.path, name: child.name, level, isFolder: true, isOpen: openFolders.has(child.path), count: child.count, position: position++, siblings });
      if (openFolders.has(child.path)) walk(child, level + 1);
    }
    for (const path of ownFiles) rows.push({ path, name: titleOf(path), level, isFolder: false, isOpen: false, count: 0, position: position++, siblings });
  };
  walk(root, 1);
  return rows;
}

const OPEN_FOLDERS_KEY = 'openFolders';

function loadOpenFolders(): Set<string> {
  try {
    return new Set(JSON.parse(sessionStorage.getItem(OPEN_FOLDERS_KEY) ?? '[]'));
  } catch {
    return new Set();
  }
}

function parentsOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'));
}

export function Tree({ current }: { current: string }): JSX.Element {
  const allFiles = useStore(files);
  const error = useStore(filesError);
  const [openFolders, setOpenFolders] = useState(loadOpenFolders);
  const [focusedPath, setFocusedPath] = useState('');
  const [scrollTop, setScrollTop] = useState(0);
  const [height, setHeight] = useState(600);
  const pane = useRef<HTMLDivElement>(null);
  const root = useMemo(() => makeTree(allFiles?.paths ?? []), [allFiles]);
  const rows = useMemo(() => listRows(root, openFolders), [root, openFolders]);

  const setFolderOpen = (path: string, isOpen: boolean) => {
    const next = new Set(openFolders);
    if (isOpen) next.add(path);
    else next.delete(path);
    setOpenFolders(next);
    sessionStorage.setItem(OPEN_FOLDERS_KEY, JSON.stringify([...next]));
  };

  useEffect(() => void loadFiles(), []);
  useEffect(() => {
    if (!current) return;
    const missing = parentsOf(current).filter((folder) => !openFolders.has(folder));
    if (missing.length) setOpenFolders(new Set([...openFolders, ...missing]));
    setFocusedPath(current);
  }, [current]);
  // The open file is visible in the tree, also after its folders had to be opened for it.
  useLayoutEffect(() => {
    const index = rows.findIndex((row) => row.path === current);
    const node = pane.current;
    const isVisible = !!node && index * ROW_HEIGHT >= node.scrollTop && (index + 1) * ROW_HEIGHT <= node.scrollTop + node.clientHeight;
    // In the middle, so that its neighbours are visible too.
    if (node && index >= 0 && !isVisible) node.scrollTop = (index + 0.5) * ROW_HEIGHT - node.clientHeight / 2;
  }, [current, allFiles !== null && rows.some((row) => row.path === current)]);
  useLayoutEffect(() => {
    const node = pane.current;
    if (!node) return undefined;
    const observer = new ResizeObserver(() => setHeight(node.clientHeight));
    observer.observe(node);
    return () => observer.disconnect();
  }, [allFiles !== null]);

  const scrollToRow = (index: number) => {
    const node = pane.current;
    if (!node) return;
    if (index * ROW_HEIGHT < node.scrollTop) node.scrollTop = index * ROW_HEIGHT;
    else if ((index + 1) * ROW_HEIGHT > node.scrollTop + node.clientHeight) node.scrollTop = (index + 1) * ROW_HEIGHT - node.clientHeight;
  };

  if (!allFiles) return error ? <Failure error={error} retry={() => void loadFiles()} /> : <Loading>Reading the list of files…</Loading>;
  if (!allFiles.paths.length) return <p class="tree-empty quiet">{allFiles.complete ? 'There are no files yet. Create the first note with the button above.' : 'The vault is being read. Files appear here in a moment.'}</p>;

  const index = Math.max(0, rows.findIndex((row) => row.path === focusedPath));
  const handleKeyDown = (event: KeyboardEvent) => {
    const row = rows[index];
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    const goTo = (to: number) => {
      const next = rows[Math.min(Math.max(to, 0), rows.length - 1)];
      if (next) setFocusedPath(next.path);
      scrollToRow(Math.min(Math.max(to, 0), rows.length - 1));
    };
    const pageSize = Math.max(1, Math.floor(height / ROW_HEIGHT) - 1);
    const actions: Record<string, () => void> = {
      ArrowDown: () => goTo(index + 1),
      ArrowUp: () => goTo(index - 1),
      PageDown: () => goTo(index + pageSize),
      PageUp: () => goTo(index - pageSize),
      Home: () => goTo(0),
      End: () => goTo(rows.length - 1),
      ArrowRight: () => (row.isFolder && !row.isOpen ? setFolderOpen(row.path, true) : goTo(index + 1)),
      ArrowLeft: () => (row.isFolder && row.isOpen ? setFolderOpen(row.path, false) : goTo(rows.findLastIndex((above, i) => i < index && above.level < row.level))),
      Enter: () => (row.isFolder ? setFolderOpen(row.path, !row.isOpen) : navigate(href('note', row.path))),
      ' ': () => row.isFolder && setFolderOpen(row.path, !row.isOpen),
    };
    const run = actions[event.key];
    if (run) {
      event.preventDefault();
      run();
    } else if (/^[^\s/?]$/u.test(event.key)) {
      // A letter jumps to a name here, and is not a shortcut of the note beside the tree.
      event.preventDefault();
      const letter = event.key.toLowerCase();
      const next = [...rows.slice(index + 1), ...rows.slice(0, index + 1)].find((candidate) => candidate.name.toLowerCase().startsWith(letter));
      if (next) goTo(rows.indexOf(next));
    }
  };

  const first = Math.max(0, Math.floor(scrollTop / ROW_HEIGHT) - OVERSCAN);
  const visibleRows = rows.slice(first, Math.ceil((scrollTop + height) / ROW_HEIGHT) + OVERSCAN);
  const active = visibleRows.some((row) => row.path === rows[index]?.path) ? `row-${index}` : undefined;
  return (
    <div class="tree" ref={pane} role="tree" aria-label="Files" tabIndex={0} aria-activedescendant={active}
      onKeyDown={handleKeyDown} onScroll={(event) => setScrollTop(event.currentTarget.scrollTop)}>
      <div role="presentation" style={{ height: `${rows.length * ROW_HEIGHT}px` }}>
        {visibleRows.map((row, i) => {
          const number = first + i;
          return (
            <div key={`${row.isFolder}${row.path}`} id={`row-${number}`} role="treeitem" class="row" data-path={row.path} aria-level={row.level}
              aria-expanded={row.isFolder ? row.isOpen : undefined} aria-setsize={row.siblings} aria-posinset={row.position}
              aria-current={row.path === current && !row.isFolder ? 'page' : undefined} aria-selected={number === index}
              style={{ top: `${number * ROW_HEIGHT}px`, paddingLeft: `${indentOf(row.level)}rem` }}
              onClick={(event) => {
                setFocusedPath(row.path);
                if (row.isFolder) setFolderOpen(row.path, !row.isOpen);
                else if (event.ctrlKey || event.metaKey) openTab(row.path);
                else navigate(href('note', row.path));
              }}
              onAuxClick={(event) => event.button === 1 && !row.isFolder && openTab(row.path)}>
              <Icon name={row.isFolder ? (row.isOpen ? 'down' : 'right') : iconOf(row.path)} />
              <span class="row-name" title={row.name.length > MAX_NAME_CHARS ? row.name : undefined}><bdi>{row.name}</bdi></span>
              {row.isFolder ? <span class="row-count">{row.count}<span class="hidden-text"> files</span></span> : kindOf(row.path) !== 'note' && <span class="row-kind">{row.path.split('.').at(-1)}</span>}
            </div>
          );
        })}
      </div>
    </div>
  );
}

const openTab = (path: string): void => void window.open(href('note', path), '_blank');
