// The content of a folder.

import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { pluralize } from '../lib/format';
import { useTitle } from '../lib/hooks';
import { Icon } from '../lib/icons';
import { iconOf, titleOf } from '../lib/paths';
import { href } from '../lib/router';
import { EmptyState, Loading } from '../lib/states';
import { useStore } from '../lib/store';
import { Breadcrumbs } from './breadcrumbs';
import { files, loadFiles } from './files';

const MAX_FILES = 1000; // listed here; the tree has all

export function FolderView({ path }: { path: string }): JSX.Element {
  const allFiles = useStore(files);
  useTitle(path);
  useEffect(() => void loadFiles(), []);
  if (!allFiles) return <Loading />;
  const prefix = path ? `${path}/` : '';
  const folders = new Map<string, number>();
  const ownFiles: string[] = [];
  for (const file of allFiles.paths) {
    if (!file.startsWith(prefix)) continue;
    const rest = file.slice(prefix.length);
    const cut = rest.indexOf('/');
    if (cut < 0) ownFiles.push(file);
    else folders.set(rest.slice(0, cut), (folders.get(rest.slice(0, cut)) ?? 0) + 1);
  }
  if (!ownFiles.length && !folders.size) return <EmptyState standalone icon="folder" title={`There is no folder “${path}”`}><p>It may have been moved or renamed. <a href={href('vault')}>Go to the vault</a></p></EmptyState>;
  return (
    <div class="page">
      <header>
        <Breadcrumbs path={path} />
        <h1 dir="auto">{path.split('/').at(-1)}</h1>
      </header>
      <ul class="named folder-list">
        {[...folders].map(([name, count]) => <li key={name}><a href={href('folder', prefix + name)}><Icon name="folder" /><span>{name}</span><span class="quiet">{pluralize(count, 'file')}</span></a></li>)}
        {ownFiles.slice(0, MAX_FILES).map((file) => <li key={file}><a href={href('note', file)}><Icon name={iconOf(file)} /><span dir="auto">{titleOf(file)}</span></a></li>)}
      </ul>
      {ownFiles.length > MAX_FILES && <p class="quiet">The first {MAX_FILES.toLocaleString()} of {ownFiles.length.toLocaleString()} files. The tree has all.</p>}
    </div>
  );
}
