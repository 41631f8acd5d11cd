// The vault's home: where to continue.

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api, vaultName } from '../lib/api';
import { href, navigate } from '../lib/router';
import { ago, complain, Empty, Failure, Icon, type IconName, Loading, plural, useLoad, useTitle } from '../lib/ui';
import { useValue } from '../lib/value';
import { useKnown } from '../activity/assistants';
import { known, knownName } from '../activity/known';
import { waiting } from '../review/proposals';
import { type Files, files, loadFiles } from './files';
import { folderOf, type Home as HomeData, kindOf, type Saved, titleOf } from './types';

const RECENT = 12;

export function Home(): JSX.Element {
  useTitle('');
  const all = useValue(files);
  // What changes while the first answer is on its way is asked for after it, so that the first is soon there.
  const asked = useRef<Files | null>(null);
  const home = useLoad((signal) => ((asked.current = files.get()), api<HomeData>('home', { query: { limit: RECENT }, signal })), [vaultName()]);
  useEffect(() => void (home.state !== 'loading' && asked.current !== all && home.again()), [all, home.state]);
  const value = home.value;
  const nobodyYet = useKnown().now?.assistants.length === 0;
  if (!value) return home.state === 'failed' ? <Failure error={home.error} retry={home.again} /> : <Loading>Opening the vault…</Loading>;
  const { counts } = value;
  const parts = [plural(counts.notes, 'note'), counts.canvases && plural(counts.canvases, 'canvas', 'canvases'), counts.bases && plural(counts.bases, 'base'), counts.attachments && plural(counts.attachments, 'attachment')];
  return (
    <div class="page home">
      <header class="home-head">
        <div>
          <h1>{value.vault}</h1>
          <p class="quiet">{parts.filter(Boolean).join(' · ')}{value.readOnly ? ' · read-only' : ''}{value.index.complete ? '' : ` · reading${value.index.total ? `, ${value.index.done} of ${value.index.total}` : ''}`}</p>
        </div>
        <Today today={value.today} readOnly={value.readOnly} />
      </header>
      {value.owner && <Waiting />}
      {value.owner && nobodyYet && <Invite />}
      {!counts.notes && value.index.complete ? (
        <Empty icon="note" title="This vault has no notes yet"><p>{value.readOnly ? 'Nothing can be written here: the vault is read-only.' : 'Create one with the + beside the search, or have an assistant write the first.'}</p></Empty>
      ) : (
        <>
          {value.bookmarks.length > 0 && (
            <section aria-labelledby="bookmarks-title">
              <h2 id="bookmarks-title" class="list-title">Bookmarks</h2>
              <ul class="chips">{value.bookmarks.map((bookmark) => <li key={bookmark.path}><a class="chip" href={href('note', bookmark.path)}>{bookmark.title || titleOf(bookmark.path)}</a></li>)}</ul>
            </section>
          )}
          <section aria-labelledby="recent-title">
            <h2 id="recent-title" class="list-title">Changed last</h2>
            <ul class="recent">
              {value.recent.map(({ path, modified }) => (
                <li key={path}>
                  <a class="card recent-card" href={href('note', path)}>
                    <Icon name={({ canvas: 'canvas', base: 'base' } as Partial<Record<string, IconName>>)[kindOf(path)] ?? 'note'} />
                    <span class="recent-name" title={titleOf(path)}>{titleOf(path)}</span>
                    <span class="recent-place">{folderOf(path) && <><bdi class="quiet" title={folderOf(path)}>{folderOf(path).split('/').at(-1)}</bdi><span aria-hidden="true">·</span></>}<time dateTime={new Date(modified * 1000).toISOString()}>{ago(modified)}</time></span>
                  </a>
                </li>
              ))}
            </ul>
          </section>
        </>
      )}
      {value.owner && !nobodyYet && <Connected />}
    </div>
  );
}

/** What assistants propose comes before everything else: they wait for it. */
function Waiting(): JSX.Element | null {
  const proposals = useValue(waiting);
  useValue(known); // the names of assistants
  if (!proposals.length) return null;
  const names = [...new Set(proposals.map(({ assistant }) => knownName(assistant)))];
  return (
    <p class="banner waiting" role="status">
      <Icon name="review" />
      <span><strong>{plural(proposals.length, 'change waits', 'changes wait')} for you</strong>, proposed by {names.slice(0, 3).join(', ')}{names.length > 3 ? ' and others' : ''}.</span>
      <a class="button accept" href={href('review')}>Review</a>
    </p>
  );
}

/** The daily note of today; one that is not there yet is created from its template, as in the app. */
function Today({ today, readOnly }: { today: HomeData['today']; readOnly: boolean }): JSX.Element | null {
  const [busy, setBusy] = useState(false);
  if (!today || (readOnly && !today.exists)) return null;
  if (today.exists) return <a class="button" id="today" href={href('note', today.path)}><Icon name="today" />Today’s note</a>;
  const begin = async (): Promise<void> => {
    setBusy(true);
    try {
      const { path } = await api<Saved>('today', { body: {} });
      void loadFiles();
      navigate(href('note', path, { edit: 1 }));
    } catch (error) {
      complain(error);
      setBusy(false);
    }
  };
  return <button type="button" id="today" disabled={busy} onClick={() => void begin()}><Icon name="today" />Begin today’s note</button>;
}

const SHOWN = 4; // assistants; Activity lists all

/** What the page is for, for new users: shown first until an assistant has connected. */
function Invite(): JSX.Element {
  return (
    <section class="card invite" aria-labelledby="invite-title">
      <Icon name="link" />
      <div>
        <h2 id="invite-title">Connect an assistant</h2>
        <p class="quiet">Claude, Cursor and every other MCP client can work with this vault. You see what they read and change under <a href={href('activity')}>Activity</a>, and decide under <a href={href('review')}>Review</a>.</p>
      </div>
      <a class="button accept" href={href('settings', 'assistants')}>How to connect</a>
    </section>
  );
}

/** Who is working with the vault now, or how somebody could. */
function Connected(): JSX.Element | null {
  const { now } = useKnown();
  if (!now) return null;
  const here = now.assistants.filter((assistant) => assistant.connected);
  if (!here.length) return <Invite />;
  return (
    <section aria-labelledby="assistants-title">
      <h2 id="assistants-title" class="list-title">Assistants</h2>
      <ul class="present">
        {here.slice(0, SHOWN).map((assistant) => (
          <li key={assistant.id}><a class="card recent-card" href={href('activity', '', { assistant: assistant.id })}>
            <span class="presence" data-paused={assistant.paused} aria-hidden="true" />
            <span class="recent-name">{assistant.name}</span>
            <span class="quiet">{assistant.paused ? 'paused' : assistant.did || 'has done nothing yet'}</span>
          </a></li>
        ))}
      </ul>
      {here.length > SHOWN && <p class="quiet"><a href={href('activity')}>{plural(here.length - SHOWN, 'more assistant')}</a></p>}
    </section>
  );
}
