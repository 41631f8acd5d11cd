// The home of the vault: where to continue.

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { assistantList, assistantNameOf, useAssistants } from '../activity/assistant-list';
import { api, getVaultName } from '../lib/api';
import { formatAgo, formatFileCounts, pluralize } from '../lib/format';
import { useLoad, useTitle } from '../lib/hooks';
import { Icon, type IconName } from '../lib/icons';
import { notify, notifyError } from '../lib/notices';
import { declineSignIn, getBrowserId, hasDeclined, signedInBrowsers, staySignedIn } from '../lib/sign-in';
import { folderOf, kindOf, titleOf } from '../lib/paths';
import { href, navigate } from '../lib/router';
import { EmptyState, Failure, Loading } from '../lib/states';
import { useStore } from '../lib/store';
import { waitingProposals } from '../review/proposals';
import { type Files, files, loadFiles } from './files';
import type { HomeData, Saved } from './model';

const MAX_RECENT = 12;

export function Home(): JSX.Element {
  useTitle('');
  const allFiles = useStore(files);
  // If files change while the answer is under way, it is requested again only after it has arrived, so that it is shown soon.
  const requestedFor = useRef<Files | null>(null);
  const home = useLoad((signal) => ((requestedFor.current = files.get()), api<HomeData>('home', { query: { limit: MAX_RECENT }, signal })), [getVaultName()]);
  useEffect(() => void (home.state !== 'loading' && requestedFor.current !== allFiles && home.reload()), [allFiles, home.state]);
  const value = home.value;
  const isUnused = useAssistants().list?.assistants.length === 0; // no assistant has ever connected
  if (!value) return home.state === 'failed' ? <Failure error={home.error} retry={home.reload} /> : <Loading>Opening the vault…</Loading>;
  const { counts } = value;
  return (
    <div class="page home">
      <header class="home-head">
        <div>
          <h1>{value.vault}</h1>
          <p class="quiet">{formatFileCounts(counts, ' · ')}{value.readOnly ? ' · read-only' : ''}{value.index.complete ? '' : ` · reading${value.index.total ? `, ${value.index.done} of ${value.index.total}` : ''}`}</p>
        </div>
        <TodayButton today={value.today} readOnly={value.readOnly} />
      </header>
      {value.owner && <WaitingProposals />}
      {value.owner && <SignInOffer />}
      {value.owner && isUnused && <ConnectCard />}
      {!counts.notes && value.index.complete ? (
        <EmptyState icon="note" title="This vault has no notes yet"><p>{value.readOnly ? 'The vault is read-only, so nothing can be written here.' : 'Create one with the + next to the search field, or let an assistant write the first.'}</p></EmptyState>
      ) : (
        <>
          {value.bookmarks.length > 0 && (
            <section aria-labelledby="bookmarks-title">
              <h2 id="bookmarks-title" class="list-title">Bookmarks</h2>
              <ul class="chips">{value.bookmarks.map((bookmark) => <li key={bookmark.path}><a class="chip" href={href('note', bookmark.path)}>{bookmark.title || titleOf(bookmark.path)}</a></li>)}</ul>
            </section>
          )}
          <section aria-labelledby="recent-title">
            <h2 id="recent-title" class="list-title">Recently changed</h2>
            <ul class="recent">
              {value.recent.map(({ path, modified }) => (
                <li key={path}>
                  <a class="card recent-card" href={href('note', path)}>
                    <Icon name={({ canvas: 'canvas', base: 'base' } as Partial<Record<string, IconName>>)[kindOf(path)] ?? 'note'} />
                    <span class="recent-name" title={titleOf(path)}>{titleOf(path)}</span>
                    <span class="recent-place">{folderOf(path) && <><bdi class="quiet" title={folderOf(path)}>{folderOf(path).split('/').at(-1)}</bdi><span aria-hidden="true">·</span></>}<time dateTime={new Date(modified * 1000).toISOString()}>{formatAgo(modified)}</time></span>
                  </a>
                </li>
              ))}
            </ul>
          </section>
        </>
      )}
      {value.owner && !isUnused && <ConnectedAssistants />}
    </div>
  );
}

/** Proposals come before everything else, because assistants are waiting. */
function WaitingProposals(): JSX.Element | null {
  const proposals = useStore(waitingProposals);
  useStore(assistantList); // for their names
  if (!proposals.length) return null;
  const names = [...new Set(proposals.map(({ assistant }) => assistantNameOf(assistant)))];
  return (
    <p class="banner waiting" role="status">
      <Icon name="review" />
      <span><strong>{pluralize(proposals.length, 'change is', 'changes are')} waiting for your review</strong>, proposed by {names.slice(0, 3).join(', ')}{names.length > 3 ? ' and others' : ''}.</span>
      <a class="button accept" href={href('review')}>Review</a>
    </p>
  );
}

/** Offered until the person has decided: without it, a bookmark of the page opens nothing once its last tab is closed. */
function SignInOffer(): JSX.Element | null {
  const browsers = useStore(signedInBrowsers);
  const declined = useStore(hasDeclined);
  if (!browsers || declined || browsers.some(({ id }) => id === getBrowserId())) return null;
  const accept = (): void => void staySignedIn().then(() => notify('This browser stays signed in. You can bookmark this page, or install it as an app.'), notifyError);
  return (
    <p class="banner sign-in">
      <Icon name="link" />
      <span>Once its last tab is closed, this page needs a new link.</span>
      <button type="button" onClick={accept}>Keep me signed in on this browser</button>
      <button type="button" class="link" onClick={declineSignIn}>No, thanks</button>
    </p>
  );
}

/** Opens today's daily note, or creates it from its template as Obsidian does. */
function TodayButton({ today, readOnly }: { today: HomeData['today']; readOnly: boolean }): JSX.Element | null {
  const [isBusy, setBusy] = useState(false);
  if (!today || (readOnly && !today.exists)) return null;
  if (today.exists) return <a class="button" id="today" href={href('note', today.path)}><Icon name="today" />Today’s note</a>;
  const create = async (): Promise<void> => {
    setBusy(true);
    try {
      const { path } = await api<Saved>('today', { body: {} });
      void loadFiles();
      navigate(href('note', path, { edit: 1 }));
    } catch (error) {
      notifyError(error);
      setBusy(false);
    }
  };
  return <button type="button" id="today" disabled={isBusy} onClick={() => void create()}><Icon name="today" />Start today’s note</button>;
}

const MAX_ASSISTANTS = 4; // listed here; Activity lists all

/** Tells new users what the page is for. */
function ConnectCard(): JSX.Element {
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

/** The connected assistants, or how to connect one. */
function ConnectedAssistants(): JSX.Element | null {
  const { list } = useAssistants();
  if (!list) return null;
  const connected = list.assistants.filter((assistant) => assistant.connected);
  if (!connected.length) return <ConnectCard />;
  return (
    <section aria-labelledby="assistants-title">
      <h2 id="assistants-title" class="list-title">Assistants</h2>
      <ul class="present">
        {connected.slice(0, MAX_ASSISTANTS).map((assistant) => (
          <li key={assistant.id}><a class="card recent-card" href={href('activity', '', { assistant: assistant.id })}>
            <span class="presence" data-paused={assistant.paused} aria-hidden="true" />
            <span class="recent-name">{assistant.name}</span>
            <span class="quiet">{assistant.paused ? 'paused' : assistant.summary || 'No activity yet'}</span>
          </a></li>
        ))}
      </ul>
      {connected.length > MAX_ASSISTANTS && <p class="quiet"><a href={href('activity')}>{pluralize(connected.length - MAX_ASSISTANTS, 'more assistant')}</a></p>}
    </section>
  );
}
