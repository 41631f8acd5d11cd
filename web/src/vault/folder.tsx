// A folder: what is in it.

import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { href } from '../lib/router';
import { Empty, Icon, Loading, plural, useTitle } from '../lib/ui';
import { useValue } from '../lib/value';
import { files, loadFiles } from './files';
import { Crumbs } from './note';
import { iconOf, titleOf } from './types';

const SHOWN = 1000; // files listed; the tree has all

export function FolderView({ path }: { path: string }): JSX.Element {
  const all = useValue(files);
  useTitle(path);
  useEffect(() => void loadFiles(), []);
  if (!all) return <Loading />;
  const prefix = path ? `${path}/` : '';
  const folders = new Map<string, number>();
  const own: string[] = [];
  for (const file of all.paths) {
    if (!file.startsWith(prefix)) continue;
    const rest = file.slice(prefix.length);
    const cut = rest.indexOf('/');
    if (cut < 0) own.push(file);
    else folders.set(rest.slice(0, cut), (folders.get(rest.slice(0, cut)) ?? 0) + 1);
  }
  if (!own.length && !folders.size) return <Empty alone icon="folder" title={`There is no folder “${path}”`}><p>It may have been moved or renamed. <a href={href('vault')}>Go to the vault</a></p></Empty>;
  return (
    <div class="page">
      <header>
        <Crumbs path={path} />
        <h1 dir="auto">{path.split('/').at(-1)}</h1>
      </header>
      <ul class="named folder-list">
        {[...folders].map(([name, count]) => <li key={name}><a href={href('folder', prefix + name)}><Icon name="folder" /><span>{name}</span><span class="quiet">{plural(count, 'file')}</span></a></li>)}
        {own.slice(0, SHOWN).map((file) => <li key={file}><a href={href('note', file)}><Icon name={iconOf(file)} /><span dir="auto">{titleOf(file)}</span></a></li>)}
      </ul>
      {own.length > SHOWN && <p class="quiet">The first {SHOWN.toLocaleString()} of {own.length.toLocaleString()} files. The tree has all.</p>}
    </div>
  );
}
