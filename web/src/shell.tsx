// The frame around every view: navigation, the state of the connection, notices.

import type { FunctionComponent, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { badges } from './badges';
import { Help } from './help';
import { CopyableCode } from './lib/copyable-code';
import { pageTitle } from './lib/hooks';
import { Icon, type IconName } from './lib/icons';
import { live, type LiveState } from './lib/live';
import { announcement, dismissNotice, notices } from './lib/notices';
import { href, HOME, navigate, type Route, route } from './lib/router';
import { getLinkCommand } from './lib/sign-in';
import { EmptyState, Failure, Loading } from './lib/states';
import { useStore } from './lib/store';
import { Switcher } from './switcher';

export type View = FunctionComponent<{ route: Route }>;

interface ViewEntry {
  name: string;
  title: string;
  icon: IconName;
  load: () => Promise<{ default: View }>;
}

/** Each view is a module of its own, loaded when it is first opened. */
const VIEWS: ViewEntry[] = [
  { name: HOME, title: 'Vault', icon: 'vault', load: () => import('./views/vault') },
  { name: 'graph', title: 'Graph', icon: 'graph', load: () => import('./views/graph') },
  { name: 'activity', title: 'Activity', icon: 'activity', load: () => import('./views/activity') },
  { name: 'review', title: 'Review', icon: 'review', load: () => import('./views/review') },
  { name: 'settings', title: 'Settings', icon: 'settings', load: () => import('./views/settings') },
];

/** Addresses that the Vault view shows. */
const VAULT_ADDRESSES = ['note', 'folder', 'search', 'capture'];

export function Shell(): JSX.Element {
  const current = useStore(route);
  const state = useStore(live.state);
  const hello = useStore(live.hello);
  const title = useStore(pageTitle);
  const counts = useStore(badges);
  const name = VAULT_ADDRESSES.includes(current.view) ? HOME : current.view;
  const entry = VIEWS.find((view) => view.name === name);
  // Stored, so that the bar does not jump while the page connects.
  const vault = hello?.vault ?? sessionStorage.getItem('vault') ?? '';
  const hasSeveralVaults = (hello?.vaults.length ?? 0) > 1;
  useEffect(() => sessionStorage.setItem('vault', vault), [vault]);
  useEffect(() => {
    const waiting = counts.review ? `(${counts.review}) ` : '';
    document.title = `${waiting}${[title, vault, 'vaultbridge'].filter(Boolean).join(' – ')}`;
  }, [title, vault, counts]);
  return (
    <>
      <a class="skip" href="#main" onClick={focusMain}>Skip to the content</a>
      <header class="top">
        <a class="brand" href={href(HOME)} aria-label={`${vault || 'vaultbridge'}, home`}>
          <img src="/page/icon.svg" alt="" width="26" height="26" />
          {!hasSeveralVaults && <span id="vault">{vault || 'vaultbridge'}</span>}
        </a>
        {hasSeveralVaults && (
          <select class="vault-choice" aria-label="Vault" value={vault} onChange={(event) => navigate(href(current.path ? HOME : current.view, '', { vault: event.currentTarget.value }))}>
            {hello?.vaults.map((vault) => <option key={vault} value={vault}>{vault}</option>)}
          </select>
        )}
        {/* Without access, all views would show the same. */}
        <nav class="views" aria-label="Views" hidden={state.status === 'refused'}>
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
        {state.status === 'refused' ? <NoAccess reason={state.reason} command={state.command || getLinkCommand() || 'vaultbridge page'} /> : entry ? <ViewLoader key={name} entry={entry} route={current} /> : <UnknownAddress />}
      </main>
      <Switcher views={VIEWS} />
      <Notices />
      <Announcement />
    </>
  );
}

function focusMain(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function Badge({ name }: { name: string }): JSX.Element | null {
  const count = useStore(badges)[name] ?? 0;
  return count ? <span class="count" aria-label={`${count} waiting`}>{count > 99 ? '99+' : count}</span> : null;
}

function ConnectionState({ state }: { state: LiveState }): JSX.Element {
  const labels = { starting: 'Connecting…', connected: 'Connected', limited: 'Limited access', lost: 'Not connected.', refused: 'No access' };
  return <p id="state" class="state" role="status" data-state={state.status}><span>{labels[state.status]}{state.status === 'lost' && <span class="state-more"> Trying again in {state.seconds} s.</span>}</span></p>;
}

function NoAccess({ reason, command }: { reason: string; command: string }): JSX.Element {
  return (
    <EmptyState standalone icon="link" title="Open this page with its link">
      <p role="alert">{reason || 'Your notes are private: the page opens with a link that only you have.'}</p>
      <p>Run this in a terminal. It opens the page, or prints a link to it:</p>
      <CopyableCode text={command} what="the command" />
    </EmptyState>
  );
}

function UnknownAddress(): JSX.Element {
  return (
    <EmptyState standalone icon="warning" title="There is nothing at this address">
      <p><a href={href(HOME)}>Go to the vault</a></p>
    </EmptyState>
  );
}

function ViewLoader({ entry, route: current }: { entry: ViewEntry; route: Route }): JSX.Element {
  const [View, setView] = useState<View | null>(null);
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => {
    entry.load().then((module) => setView(() => module.default), () => setError(new Error('This view could not be loaded. Is the server still running?')));
  }, []);
  const isConnected = useStore(live.state).status === 'connected';
  const wasConnected = useRef(isConnected);
  useEffect(() => {
    // Browsers remember that a module could not be loaded, so only reloading the page helps once the server is back.
    if (error && isConnected && !wasConnected.current && mayReload()) location.reload();
    wasConnected.current = isConnected;
  }, [error, isConnected]);
  if (error) return <Failure error={error} retry={() => location.reload()} manual />;
  return View ? <View route={current} /> : <Loading />;
}

const RELOADED_KEY = 'reloaded';
const RELOAD_MS = 30_000; // at least between two reloads, so that a page that cannot be loaded does not reload forever

function mayReload(): boolean {
  const last = Number(sessionStorage.getItem(RELOADED_KEY) ?? 0);
  if (Date.now() - last < RELOAD_MS) return false;
  sessionStorage.setItem(RELOADED_KEY, String(Date.now()));
  return true;
}

function Notices(): JSX.Element {
  return (
    <div class="notices" role="region" aria-label="Notices" aria-live="polite">
      {useStore(notices).map((notice) => (
        <div key={notice.id} class={`notice ${notice.kind}`} role={notice.kind === 'bad' ? 'alert' : 'status'}>
          <span>{notice.text}</span>
          {notice.action && <button type="button" onClick={() => (notice.action?.run(), dismissNotice(notice.id))}>{notice.action.label}</button>}
          <button type="button" class="bare" aria-label="Close this notice" onClick={() => dismissNotice(notice.id)}><Icon name="close" /></button>
        </div>
      ))}
    </div>
  );
}

function Announcement(): JSX.Element {
  return <div id="announcement" class="hidden-text" role="status">{useStore(announcement)}</div>;
}
