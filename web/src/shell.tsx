// Around every view: navigation, the state of the connection, notices.

import type { FunctionComponent, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { live, type LiveState } from './lib/live';
import { href, HOME, navigate, type Route, route } from './lib/router';
import { copyText, dismiss, Empty, Failure, Icon, type IconName, Loading, notices, said, titled } from './lib/ui';
import { useValue } from './lib/value';
import { badges } from './badges';
import { Help } from './help';
import { Switcher } from './switcher';

export type View = FunctionComponent<{ route: Route }>;

interface Entry {
  name: string;
  title: string;
  icon: IconName;
  load: () => Promise<{ default: View }>;
}

/** One module a view, loaded when it is first opened. */
const VIEWS: Entry[] = [
  { name: HOME, title: 'Vault', icon: 'vault', load: () => import('./views/vault') },
  { name: 'graph', title: 'Graph', icon: 'graph', load: () => import('./views/graph') },
  { name: 'activity', title: 'Activity', icon: 'activity', load: () => import('./views/activity') },
  { name: 'review', title: 'Review', icon: 'review', load: () => import('./views/review') },
  { name: 'settings', title: 'Settings', icon: 'settings', load: () => import('./views/settings') },
];

/** Addresses that belong to the Vault view. */
const WITHIN_VAULT = ['note', 'folder', 'search'];

export function Shell(): JSX.Element {
  const now = useValue(route);
  const state = useValue(live.state);
  const hello = useValue(live.hello);
  const title = useValue(titled);
  const counts = useValue(badges);
  const name = WITHIN_VAULT.includes(now.view) ? HOME : now.view;
  const entry = VIEWS.find((view) => view.name === name);
  // Remembered, so that the bar does not move while the page connects.
  const vault = hello?.vault ?? sessionStorage.getItem('vault') ?? '';
  const several = (hello?.vaults.length ?? 0) > 1;
  useEffect(() => sessionStorage.setItem('vault', vault), [vault]);
  useEffect(() => {
    const waiting = counts.review ? `(${counts.review}) ` : '';
    document.title = `${waiting}${[title, vault, 'vaultbridge'].filter(Boolean).join(' – ')}`;
  }, [title, vault, counts]);
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>Skip to the content</a>
      <header class="top">
        <a class="brand" href={href(HOME)} aria-label={`${vault || 'vaultbridge'}, home`}>
          <img src="/page/icon.svg" alt="" width="26" height="26" />
          {!several && <span id="vault">{vault || 'vaultbridge'}</span>}
        </a>
        {several && (
          <select class="vault-choice" aria-label="Vault" value={vault} onChange={(event) => navigate(href(now.path ? HOME : now.view, '', { vault: event.currentTarget.value }))}>
            {hello?.vaults.map((vault) => <option key={vault} value={vault}>{vault}</option>)}
          </select>
        )}
        {/* Without access they would all say the same. */}
        <nav class="views" aria-label="Views" hidden={state.word === 'refused'}>
          {VIEWS.map((view) => (
            <a key={view.name} href={href(view.name)} aria-current={view.name === name ? 'page' : undefined}>
              <Icon name={view.icon} />
              <span>{view.title}</span>
              <Badge name={view.name} />
            </a>
          ))}
        </nav>
        <ConnectionState state={state} />
        <Help view={name} />
      </header>
      <main id="main" tabIndex={-1} data-view={name}>
        {state.word === 'refused' ? <NoAccess why={state.why} /> : entry ? <Loader key={name} entry={entry} route={now} /> : <NoView />}
      </main>
      <Switcher places={VIEWS} />
      <Notices />
      <Said />
    </>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function Badge({ name }: { name: string }): JSX.Element | null {
  const count = useValue(badges)[name] ?? 0;
  return count ? <span class="count" aria-label={`${count} waiting`}>{count > 99 ? '99+' : count}</span> : null;
}

function ConnectionState({ state }: { state: LiveState }): JSX.Element {
  const words = { starting: 'Connecting…', connected: 'Connected', limited: 'Limited access', lost: 'Not connected.', refused: 'No access' };
  return <p id="state" class="state" role="status" data-state={state.word}><span>{words[state.word]}{state.word === 'lost' && <span class="state-more"> Trying again in {state.seconds} s.</span>}</span></p>;
}

function NoAccess({ why }: { why: string }): JSX.Element {
  return (
    <Empty alone icon="link" title="Open this page with its link">
      <p role="alert">{why || 'Your notes are private: the page opens with a link that only you have.'}</p>
      <p>Run this in a terminal, with the folder of your vault. It opens the page:</p>
      <p class="copied"><code>vaultbridge page VAULT --open</code><button type="button" onClick={() => copyText('vaultbridge page VAULT --open')} aria-label="Copy the command">Copy</button></p>
    </Empty>
  );
}

function NoView(): JSX.Element {
  return (
    <Empty alone icon="warning" title="There is nothing at this address">
      <p><a href={href(HOME)}>Go to the vault</a></p>
    </Empty>
  );
}

function Loader({ entry, route: now }: { entry: Entry; route: Route }): JSX.Element {
  const [View, set] = useState<View | null>(null);
  const [error, fail] = useState<Error | null>(null);
  useEffect(() => {
    entry.load().then((module) => set(() => module.default), () => fail(new Error('This view could not be loaded. Is the server still running?')));
  }, []);
  const connected = useValue(live.state).word === 'connected';
  const was = useRef(connected);
  useEffect(() => {
    // Browsers remember that a module could not be loaded, so only a reload helps once the server is back.
    if (error && connected && !was.current && mayReload()) location.reload();
    was.current = connected;
  }, [error, connected]);
  if (error) return <Failure error={error} retry={() => location.reload()} waits />;
  return View ? <View route={now} /> : <Loading />;
}

const RELOADED = 'reloaded';
const RELOAD_MS = 30_000; // a page that cannot be loaded at all must not reload without end

function mayReload(): boolean {
  const last = Number(sessionStorage.getItem(RELOADED) ?? 0);
  if (Date.now() - last < RELOAD_MS) return false;
  sessionStorage.setItem(RELOADED, String(Date.now()));
  return true;
}

function Notices(): JSX.Element {
  const shown = useValue(notices);
  const region = useRef<HTMLDivElement>(null);
  return (
    <div class="notices" ref={region} role="region" aria-label="Notices" aria-live="polite">
      {shown.map((notice) => (
        <div key={notice.id} class={`notice ${notice.kind}`} role={notice.kind === 'bad' ? 'alert' : 'status'}>
          <span>{notice.text}</span>
          {notice.action && <button type="button" onClick={() => (notice.action?.run(), dismiss(notice.id))}>{notice.action.label}</button>}
          <button type="button" class="bare" aria-label="Close this notice" onClick={() => dismiss(notice.id)}><Icon name="close" /></button>
        </div>
      ))}
    </div>
  );
}

function Said(): JSX.Element {
  return <div id="said" class="hidden-text" role="status">{useValue(said)}</div>;
}
