// Where a file is in the vault, as links to its folders.

import type { JSX } from 'preact';
import { Icon } from '../lib/icons';
import { folderOf } from '../lib/paths';
import { href } from '../lib/router';

const MAX_FOLDERS = 3; // of more, only the first and the last are named

export function Breadcrumbs({ path }: { path: string }): JSX.Element {
  const names = folderOf(path).split('/').filter(Boolean);
  const isLeftOut = (at: number): boolean => names.length > MAX_FOLDERS && at > 0 && at < names.length - 1;
  return (
    <nav class="crumbs" aria-label="Location in the vault">
      <a href={href('vault')}>Vault</a>
      {names.map((name, at) => {
        const folder = names.slice(0, at + 1).join('/');
        // One link stands for all that are left out: the deepest of them.
        if (isLeftOut(at)) return isLeftOut(at + 1) ? null : <span key={at}><Icon name="right" /><a href={href('folder', folder)} title={folder} aria-label={`${folder}, ${at} folders in between`}>…</a></span>;
        return <span key={at}><Icon name="right" /><a href={href('folder', folder)} title={name} dir="auto">{name}</a></span>;
      })}
    </nav>
  );
}
