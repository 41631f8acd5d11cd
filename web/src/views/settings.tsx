// Settings: what the server serves, and to whom. `#/settings`, `#/settings/SECTION`.

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { api } from '../lib/api';
import { CopyableCode } from '../lib/copyable-code';
import { formatAgo, formatFileCounts, pluralize } from '../lib/format';
import { useLoad, useTabReturn, useTitle } from '../lib/hooks';
import { Icon } from '../lib/icons';
import { live } from '../lib/live';
import { notify, notifyError } from '../lib/notices';
import { href, type Route } from '../lib/router';
import { keepInView } from '../lib/scroll';
import { Failure, Loading, OwnerOnly } from '../lib/states';
import { useStore } from '../lib/store';
import { getTheme, setTheme, THEMES } from '../lib/theme';
import { reviewState, setReviewPolicy } from '../review/proposals';
import { POLICIES } from '../review/wording';
import type { Check, Companion, Connection, Settings as SettingsData, VaultInfo } from '../settings/model';
import { SignedInBrowsers } from '../settings/browsers';
import { Tokens } from '../settings/tokens';

const SECTIONS: [string, string][] = [
  ['vaults', 'Vaults'],
  ['review', 'Review'],
  ['assistants', 'Assistants'],
  ['tokens', 'Access tokens'],
  ['browsers', 'Signed-in browsers'],
  ['privacy', 'Privacy and appearance'],
  ['doctor', 'Health'],
  ['server', 'Server'],
];

export default function Settings({ route }: { route: Route }): JSX.Element {
  useTitle('Settings');
  const { status } = useStore(live.state);
  return status === 'limited' ? <div class="settings-limited"><h1>Settings</h1><Appearance /><OwnerOnly icon="settings" /></div> : <OwnerSettings route={route} isOffline={status !== 'connected'} />;
}

function OwnerSettings({ route, isOffline }: { route: Route; isOffline: boolean }): JSX.Element {
  const loaded = useLoad((signal) => api<SettingsData>('settings', { signal }), [isOffline]);
  useTabReturn(loaded.reload);
  const settings = loaded.value;
  const isLoaded = settings !== undefined;
  useEffect(() => {
    return isLoaded && route.path ? keepInView(document.getElementById(`settings-${route.path}`)) : undefined;
  }, [route.path, isLoaded]);
  if (!settings) return loaded.state === 'failed' ? <Failure error={loaded.error} retry={loaded.reload} /> : <Loading />;
  return (
    <div class="settings">
      <nav class="settings-nav" aria-label="Sections of the settings">
        {SECTIONS.map(([name, title]) => <a key={name} href={href('settings', name)} aria-current={route.path === name ? 'true' : undefined} onClick={() => document.getElementById(`settings-${name}`)?.scrollIntoView({ block: 'start' })}>{title}</a>)}
      </nav>
      <div class="settings-body">
        <h1>Settings</h1>
        {isOffline && <p class="banner warn" role="status"><Icon name="warning" />The server cannot be reached. Nothing can be changed until it is back.</p>}
        <Section name="vaults" title="Vaults">
          {settings.vaults.map((vault) => <VaultCard key={vault.name} vault={vault} />)}
          <Scope settings={settings} />
        </Section>
        <Section name="review" title="Review"><ReviewPolicy disabled={isOffline} /></Section>
        <Section name="assistants" title="Assistants"><Connections /></Section>
        <Section name="tokens" title="Access tokens"><Tokens vaults={settings.vaults.map(({ name }) => name)} disabled={isOffline} /></Section>
        <Section name="browsers" title="Signed-in browsers"><SignedInBrowsers disabled={isOffline} /></Section>
        <Section name="privacy" title="Privacy and appearance"><Privacy settings={settings} disabled={isOffline} /></Section>
        <Section name="doctor" title="Health"><Doctor /></Section>
        <Section name="server" title="Server"><Server settings={settings} /></Section>
      </div>
    </div>
  );
}

function Section({ name, title, children }: { name: string; title: string; children: ComponentChildren }): JSX.Element {
  return <section id={`settings-${name}`} aria-labelledby={`settings-${name}-title`}><h2 id={`settings-${name}-title`}>{title}</h2>{children}</section>;
}

function VaultCard({ vault }: { vault: VaultInfo }): JSX.Element {
  const { counts, index } = vault;
  return (
    <div class="card vault-card">
      <h3>{vault.name} {vault.readOnly && <span class="tag">read-only</span>}</h3>
      <dl class="facts">
        <Fact name="Folder"><code>{vault.folder}</code></Fact>
        <Fact name="Contains">{formatFileCounts(counts, ', ')}</Fact>
        <Fact name="Index">{index.complete ? 'complete' : `being built: ${index.done.toLocaleString()} of ${index.total.toLocaleString()}`}</Fact>
        <Fact name="Scope">{describeScope(vault)}</Fact>
        <Fact name="Companion"><CompanionState vault={vault.name} /></Fact>
      </dl>
      {vault.advice && <p class="advice"><TextWithCode text={vault.advice} /></p>}
    </div>
  );
}

function CompanionState({ vault }: { vault: string }): JSX.Element {
  const loaded = useLoad((signal) => api<Companion>('companion', { query: { vault }, signal }), [vault]);
  useTabReturn(loaded.reload);
  if (!loaded.value) return <span class="quiet">{loaded.state === 'failed' ? loaded.error.message : 'checking…'}</span>;
  const { connected, enabled, installed, version, advice, command } = loaded.value;
  const state = connected ? 'connected in Obsidian' : enabled ? 'installed and enabled, not connected' : installed ? 'installed, not enabled' : 'not installed';
  return <>{state}{installed && version && `, version ${version}`}{advice && <p class="advice"><TextWithCode text={advice} /></p>}{command && <CopyableCode text={command} what="the command for the companion" />}</>;
}

/** A text from the server, with its `code` as code. */
const TextWithCode = ({ text }: { text: string }): JSX.Element => <>{text.split(/`([^`]+)`/).map((part, i) => (i % 2 ? <code key={i}>{part}</code> : part))}</>;

const Fact = ({ name, children }: { name: string; children: ComponentChildren }): JSX.Element => <div><dt>{name}</dt><dd>{children}</dd></div>;

function describeScope({ readOnly, allow, deny }: { readOnly: boolean; allow: string[]; deny: string[] }): string {
  const parts = [readOnly ? 'assistants can only read' : 'assistants can read and change notes'];
  parts[0] += allow.length ? ` only ${allow.join(', ')}` : ' everything';
  if (deny.length) parts.push(`but not ${deny.join(', ')}`);
  return parts.join(', ');
}

function Scope({ settings }: { settings: SettingsData }): JSX.Element {
  return (
    <>
      <p>For all vaults: {describeScope(settings.scope)}. For assistants, files outside the scope do not exist, not even in searches and counts.</p>
      {settings.advice.scope && <p class="advice"><strong>To change a scope:</strong> <TextWithCode text={settings.advice.scope} /></p>}
      {settings.advice.vaults && <p class="advice"><strong>To add a vault:</strong> <TextWithCode text={settings.advice.vaults} /></p>}
    </>
  );
}

function ReviewPolicy({ disabled }: { disabled: boolean }): JSX.Element {
  const state = useStore(reviewState);
  if (!state) return <Loading />;
  const rank = (value: string): number => POLICIES.findIndex((policy) => policy.value === value);
  const change = (value: 'off' | 'destructive' | 'all'): void => void setReviewPolicy(value).then(() => notify('The review policy was changed. It applies to every assistant at once.'), notifyError);
  return (
    <fieldset class="policy" disabled={disabled}>
      <legend>Which changes by assistants need your review</legend>
      {POLICIES.map(({ value, title, description }) => (
        <label key={value} class="card">
          <input type="radio" name="review" value={value} checked={state.review === value} disabled={rank(value) < rank(state.least)} onChange={() => change(value)} />
          <span><strong>{title}</strong><span class="quiet">{description}{rank(value) < rank(state.least) && ' Not possible, because serve was started with --review.'}</span></span>
        </label>
      ))}
      {state.set !== null && state.set !== state.configured && (
        <p class="quiet">The configuration says “{POLICIES[rank(state.configured)]?.title ?? state.configured}”. <button type="button" class="link" onClick={() => void setReviewPolicy(null).catch(notifyError)}>Use that</button></p>
      )}
      <p class="quiet">A call waits {pluralize(Math.round(state.wait), 'second')} for your decision. After that, the assistant is told that the change is pending, and you can still decide.</p>
    </fieldset>
  );
}

function Connections(): JSX.Element {
  const loaded = useLoad((signal) => api<{ assistants: Connection[] }>('connections', { signal }), []);
  useTabReturn(loaded.reload);
  if (!loaded.value) return loaded.state === 'failed' ? <Failure error={loaded.error} retry={loaded.reload} /> : <Loading />;
  const rank = { connected: 0, unreadable: 1, 'not connected': 2, 'not installed': 3 };
  const list = [...loaded.value.assistants].sort((a, b) => rank[a.state] - rank[b.state]);
  const installed = list.filter(({ state }) => state !== 'not installed');
  const missing = list.filter(({ state }) => state === 'not installed');
  return (
    <>
      <p>Programs on this machine that <code>vaultbridge connect</code> can set up. <a href={href('activity')}>Activity</a> shows who is connected now.</p>
      {installed.length > 0 && <ConnectionList list={installed} />}
      {missing.length > 0 && (
        <details class="not-installed" open={!installed.length}>
          <summary>{installed.length ? `${pluralize(missing.length, 'more assistant')}, not found on this machine` : `No assistant was found on this machine. ${pluralize(missing.length, 'assistant')} can be connected:`}</summary>
          <ConnectionList list={missing} />
        </details>
      )}
    </>
  );
}

function ConnectionList({ list }: { list: Connection[] }): JSX.Element {
  return (
    <ul class="rows">
      {list.map((connection) => (
        <li key={connection.name} class="card">
          <div>
            <h3>{connection.title} {connection.state !== 'not installed' && <span class="tag" data-state={connection.state}>{connection.state}</span>}</h3>
            {connection.detail && <p class="quiet">{connection.detail}</p>}
            {connection.servers.map((server) => <p key={server.name} class="quiet">{server.name}{server.vault && `, vault ${server.vault}`}</p>)}
            {connection.state !== 'connected' && connection.command && <CopyableCode text={connection.command} what={`the command for ${connection.title}`} />}
            {connection.then && connection.state !== 'not installed' && <p class="advice"><TextWithCode text={connection.then} /></p>}
          </div>
        </li>
      ))}
    </ul>
  );
}

function Privacy({ settings, disabled }: { settings: SettingsData; disabled: boolean }): JSX.Element {
  const [isShared, setShared] = useState(settings.shareSelection);
  // A new answer of the server counts more than what was pressed here.
  useEffect(() => setShared(settings.shareSelection), [settings]);
  useEffect(() => live.on('sharingChanged', ({ shareSelection }) => setShared(shareSelection)), []);
  const change = (share: boolean): void => {
    setShared(share);
    live.request('shareSelection', { share }).catch((error) => (setShared(!share), notifyError(error)));
  };
  return (
    <div class="privacy">
      <label class="check"><input id="share" type="checkbox" checked={isShared} disabled={disabled} onChange={(event) => change(event.currentTarget.checked)} /><span>Share what I have open<span class="quiet"> with connected assistants: the note and the lines you select, here and in Obsidian. Mentions are always sent.</span></span></label>
      <Appearance />
    </div>
  );
}

/** For this browser only, whoever has opened the page. */
function Appearance(): JSX.Element {
  const [theme, setThemeState] = useState(getTheme());
  return (
    <label>Colours <select value={theme} onChange={(event) => (setTheme(event.currentTarget.value), setThemeState(getTheme()))}>
      {THEMES.map(({ value, title }) => <option key={value} value={value}>{title}</option>)}
    </select></label>
  );
}

const STATUS_LABELS = { good: 'OK', warning: 'Warning', bad: 'Problem', unknown: 'Info' };

function Doctor(): JSX.Element {
  const loaded = useLoad((signal) => api<{ checks: Check[]; bad: number; warnings: number }>('doctor', { signal }), []);
  const [showsAll, setShowsAll] = useState(false);
  const isBusy = loaded.state === 'loading';
  if (!loaded.value) return loaded.state === 'failed' ? <Failure error={loaded.error} retry={loaded.reload} /> : <Loading>Checking the vault…</Loading>;
  const { checks, bad, warnings } = loaded.value;
  const rank = { bad: 0, warning: 1, unknown: 2, good: 3 };
  const sorted = [...checks].sort((a, b) => rank[a.status] - rank[b.status]);
  const shown = showsAll ? sorted : sorted.filter(({ status }) => status !== 'good');
  return (
    <>
      <p><strong>{bad ? `${pluralize(bad, 'problem')} found.` : warnings ? `${pluralize(warnings, 'warning')}.` : 'Everything is in order.'}</strong> {pluralize(checks.length, 'check')} done.
        {' '}<button type="button" class="link" disabled={isBusy} onClick={loaded.reload}>{isBusy ? 'Checking…' : 'Check again'}</button></p>
      {shown.length > 0 && (
        <ul class="rows">
          {shown.map((check, i) => (
            <li key={`${check.area} ${check.name} ${i}`} class="card" data-status={check.status}>
              <div>
                <h3>{!check.area ? check.name : check.area.toLowerCase() === check.name ? check.area : `${check.area}: ${check.name}`} <span class="tag" data-status={check.status}>{STATUS_LABELS[check.status]}</span></h3>
                <p><TextWithCode text={check.found} /></p>
                {check.advice && <p class="advice"><TextWithCode text={check.advice} /></p>}
              </div>
            </li>
          ))}
        </ul>
      )}
      <button type="button" class="link" aria-expanded={showsAll} onClick={() => setShowsAll(!showsAll)}>{showsAll ? 'Show only what needs attention' : 'Show all checks'}</button>
    </>
  );
}

function Server({ settings }: { settings: SettingsData }): JSX.Element {
  const { server } = settings;
  return (
    <dl class="facts card">
      <Fact name="Version">{settings.version}</Fact>
      <Fact name="Address"><code>{server.url}</code></Fact>
      <Fact name="Running">started {formatAgo(server.since)}, process {server.pid}</Fact>
      <Fact name="Access">{server.tokensRequired ? 'every program needs a token' : 'programs on this machine need no token'}{server.tls ? '; encrypted' : ''}</Fact>
      <Fact name="Configuration"><code>{settings.configFile}</code>{!settings.configExists && ' (does not exist yet)'}</Fact>
      <Fact name="Tools">{pluralize(settings.tools.count, 'tool')}, profile {settings.tools.profile}</Fact>
      <Fact name="Claude Code">{!settings.ide.enabled ? 'not offered' : settings.ide.announced ? 'finds this server with /ide' : 'offered, but not announced'}</Fact>
    </dl>
  );
}
