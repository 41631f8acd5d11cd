// Settings: what the server serves and to whom. `#/settings`, `#/settings/SECTION`.

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { api } from '../lib/api';
import { live } from '../lib/live';
import { href, type Route } from '../lib/router';
import { chosenTheme, setTheme, THEMES } from '../lib/theme';
import { ago, complain, Failure, Icon, Loading, notify, OwnersOnly, plural, useLoad, useReturn, useTitle } from '../lib/ui';
import { useValue } from '../lib/value';
import { policy, setPolicy } from '../review/proposals';
import { POLICIES } from '../review/words';
import { Copy } from '../settings/copy';
import type { Check, Companion, Connection, Settings as All, VaultInfo } from '../settings/model';
import { Tokens } from '../settings/tokens';

const SECTIONS: [string, string][] = [
  ['vaults', 'Vaults'],
  ['review', 'Review'],
  ['assistants', 'Assistants'],
  ['tokens', 'Access tokens'],
  ['privacy', 'Privacy and looks'],
  ['doctor', 'Health'],
  ['server', 'Server'],
];

export default function Settings({ route }: { route: Route }): JSX.Element {
  useTitle('Settings');
  const { word } = useValue(live.state);
  return word === 'limited' ? <div class="settings-limited"><h1>Settings</h1><Looks /><OwnersOnly icon="settings" /></div> : <Whole route={route} isAway={word !== 'connected'} />;
}

function Whole({ route, isAway }: { route: Route; isAway: boolean }): JSX.Element {
  const loaded = useLoad((signal) => api<All>('settings', { signal }), [isAway]);
  useReturn(loaded.again);
  const all = loaded.value;
  const isThere = all !== undefined;
  useEffect(() => {
    return isThere && route.path ? holdInSight(`settings-${route.path}`) : undefined;
  }, [route.path, isThere]);
  if (!all) return loaded.state === 'failed' ? <Failure error={loaded.error} retry={loaded.again} /> : <Loading />;
  return (
    <div class="settings">
      <nav class="settings-nav" aria-label="Sections of the settings">
        {SECTIONS.map(([name, title]) => <a key={name} href={href('settings', name)} aria-current={route.path === name ? 'true' : undefined} onClick={() => document.getElementById(`settings-${name}`)?.scrollIntoView({ block: 'start' })}>{title}</a>)}
      </nav>
      <div class="settings-body">
        <h1>Settings</h1>
        {isAway && <p class="banner warn" role="status"><Icon name="warning" />The server is away. Nothing can be changed until it is back.</p>}
        <Section name="vaults" title="Vaults">
          {all.vaults.map((vault) => <Vault key={vault.name} vault={vault} />)}
          <Scope all={all} />
        </Section>
        <Section name="review" title="Review"><ReviewPolicy disabled={isAway} /></Section>
        <Section name="assistants" title="Assistants"><Connections /></Section>
        <Section name="tokens" title="Access tokens"><Tokens vaults={all.vaults.map(({ name }) => name)} disabled={isAway} /></Section>
        <Section name="privacy" title="Privacy and looks"><Privacy all={all} disabled={isAway} /></Section>
        <Section name="doctor" title="Health"><Doctor /></Section>
        <Section name="server" title="Server"><Server all={all} /></Section>
      </div>
    </div>
  );
}

const ACTS = ['wheel', 'touchmove', 'keydown', 'pointerdown']; // by which a person starts to scroll

/** Shows a section, and keeps it there while what is above it still loads, until the person scrolls. */
function holdInSight(id: string): () => void {
  const section = document.getElementById(id);
  const own = new AbortController();
  const watch = new ResizeObserver(() => section?.scrollIntoView({ block: 'start' }));
  if (section?.parentElement) watch.observe(section.parentElement);
  for (const act of ACTS) addEventListener(act, () => watch.disconnect(), { signal: own.signal, passive: true });
  return () => (watch.disconnect(), own.abort());
}

function Section({ name, title, children }: { name: string; title: string; children: ComponentChildren }): JSX.Element {
  return <section id={`settings-${name}`} aria-labelledby={`settings-${name}-title`}><h2 id={`settings-${name}-title`}>{title}</h2>{children}</section>;
}

function Vault({ vault }: { vault: VaultInfo }): JSX.Element {
  const { counts, index } = vault;
  return (
    <div class="card vault-card">
      <h3>{vault.name} {vault.readOnly && <span class="tag">read only</span>}</h3>
      <dl class="facts">
        <Fact name="Folder"><code>{vault.folder}</code></Fact>
        <Fact name="Holds">{[plural(counts.notes, 'note'), counts.canvases && plural(counts.canvases, 'canvas', 'canvases'), counts.bases && plural(counts.bases, 'base'), counts.attachments && plural(counts.attachments, 'attachment')].filter(Boolean).join(', ')}</Fact>
        <Fact name="Index">{index.complete ? 'complete' : `being built: ${index.done.toLocaleString()} of ${index.total.toLocaleString()}`}</Fact>
        <Fact name="Scope">{scopeWords(vault)}</Fact>
        <Fact name="Companion"><CompanionState vault={vault.name} /></Fact>
      </dl>
      {vault.advice && <p class="todo"><Words text={vault.advice} /></p>}
    </div>
  );
}

function CompanionState({ vault }: { vault: string }): JSX.Element {
  const loaded = useLoad((signal) => api<Companion>('companion', { query: { vault }, signal }), [vault]);
  useReturn(loaded.again);
  if (!loaded.value) return <span class="quiet">{loaded.state === 'failed' ? loaded.error.message : 'looking…'}</span>;
  const { connected, enabled, installed, version, advice, command } = loaded.value;
  const words = connected ? 'connected in Obsidian' : enabled ? 'installed and enabled, not connected' : installed ? 'installed, not enabled' : 'not installed';
  return <>{words}{installed && version && `, version ${version}`}{advice && <p class="todo"><Words text={advice} /></p>}{command && <p class="copied"><code>{command}</code><Copy text={command} what="the command for the companion" /></p>}</>;
}

/** What the server says, with its `code` as code. */
const Words = ({ text }: { text: string }): JSX.Element => <>{text.split(/`([^`]+)`/).map((part, i) => (i % 2 ? <code key={i}>{part}</code> : part))}</>;

const Fact = ({ name, children }: { name: string; children: ComponentChildren }): JSX.Element => <div><dt>{name}</dt><dd>{children}</dd></div>;

function scopeWords({ readOnly, allow, deny }: { readOnly: boolean; allow: string[]; deny: string[] }): string {
  const parts = [readOnly ? 'assistants may only read' : 'assistants may read and change'];
  parts[0] += allow.length ? ` only ${allow.join(', ')}` : ' everything';
  if (deny.length) parts.push(`but not ${deny.join(', ')}`);
  return parts.join(', ');
}

function Scope({ all }: { all: All }): JSX.Element {
  return (
    <>
      <p>For all vaults: {scopeWords(all.scope)}. What the scope leaves out does not exist for assistants, also not in searches and counts.</p>
      {all.advice.scope && <p class="todo"><strong>To change a scope:</strong> <Words text={all.advice.scope} /></p>}
      {all.advice.vaults && <p class="todo"><strong>To add a vault:</strong> <Words text={all.advice.vaults} /></p>}
    </>
  );
}

function ReviewPolicy({ disabled }: { disabled: boolean }): JSX.Element {
  const state = useValue(policy);
  if (!state) return <Loading />;
  const rank = (value: string): number => POLICIES.findIndex((policy) => policy.value === value);
  const change = (value: 'off' | 'destructive' | 'all'): void => void setPolicy(value).then(() => notify('The review policy was changed. It applies to every assistant at once.'), complain);
  return (
    <fieldset class="policy" disabled={disabled}>
      <legend>Which of the assistants’ changes wait for you</legend>
      {POLICIES.map(({ value, title, explains }) => (
        <label key={value} class="card">
          <input type="radio" name="review" value={value} checked={state.review === value} disabled={rank(value) < rank(state.least)} onChange={() => change(value)} />
          <span><strong>{title}</strong><span class="quiet">{explains}{rank(value) < rank(state.least) && ' Not possible: serve was started with --review.'}</span></span>
        </label>
      ))}
      {state.set !== null && state.set !== state.configured && (
        <p class="quiet">The configuration says “{POLICIES[rank(state.configured)]?.title ?? state.configured}”. <button type="button" class="link" onClick={() => void setPolicy(null).catch(complain)}>Use that</button></p>
      )}
      <p class="quiet">A call waits {plural(Math.round(state.wait), 'second')} for your decision. After that the assistant is told that it is pending, and you can still decide.</p>
    </fieldset>
  );
}

function Connections(): JSX.Element {
  const loaded = useLoad((signal) => api<{ assistants: Connection[] }>('connections', { signal }), []);
  useReturn(loaded.again);
  if (!loaded.value) return loaded.state === 'failed' ? <Failure error={loaded.error} retry={loaded.again} /> : <Loading />;
  const rank = { connected: 0, unreadable: 1, 'not connected': 2, 'not installed': 3 };
  const list = [...loaded.value.assistants].sort((a, b) => rank[a.state] - rank[b.state]);
  const here = list.filter(({ state }) => state !== 'not installed');
  const absent = list.filter(({ state }) => state === 'not installed');
  return (
    <>
      <p>Programs on this machine that <code>vaultbridge connect</code> knows. Who is connected now is under <a href={href('activity')}>Activity</a>.</p>
      {here.length > 0 && <Assistants list={here} />}
      {absent.length > 0 && (
        <details class="absent" open={!here.length}>
          <summary>{here.length ? `${plural(absent.length, 'more assistant')}, not found on this machine` : `None was found on this machine. ${plural(absent.length, 'assistant')} can be connected:`}</summary>
          <Assistants list={absent} />
        </details>
      )}
    </>
  );
}

function Assistants({ list }: { list: Connection[] }): JSX.Element {
  return (
    <ul class="rows">
      {list.map((connection) => (
        <li key={connection.name} class="card">
          <div>
            <h3>{connection.title} {connection.state !== 'not installed' && <span class="tag" data-state={connection.state}>{connection.state}</span>}</h3>
            {connection.detail && <p class="quiet">{connection.detail}</p>}
            {connection.servers.map((server) => <p key={server.name} class="quiet">{server.name}{server.vault && `, vault ${server.vault}`}</p>)}
            {connection.state !== 'connected' && connection.command && <p class="copied"><code>{connection.command}</code><Copy text={connection.command} what={`the command for ${connection.title}`} /></p>}
            {connection.then && connection.state !== 'not installed' && <p class="todo"><Words text={connection.then} /></p>}
          </div>
        </li>
      ))}
    </ul>
  );
}

function Privacy({ all, disabled }: { all: All; disabled: boolean }): JSX.Element {
  const [shares, set] = useState(all.shareSelection);
  // The last answer is newer than what was pressed here.
  useEffect(() => set(all.shareSelection), [all]);
  useEffect(() => live.on('sharingChanged', ({ shareSelection }) => set(shareSelection)), []);
  const change = (now: boolean): void => {
    set(now);
    live.ask('shareSelection', { share: now }).catch((error) => (set(!now), complain(error)));
  };
  return (
    <div class="privacy">
      <label class="check"><input id="share" type="checkbox" checked={shares} disabled={disabled} onChange={(event) => change(event.currentTarget.checked)} /><span>Share what I have open<span class="quiet"> with connected assistants: the note and the lines you select, here and in Obsidian. Mentions are always sent.</span></span></label>
      <Looks />
    </div>
  );
}

/** Settings of this browser only, whoever opened the page. */
function Looks(): JSX.Element {
  const [theme, setChosen] = useState(chosenTheme());
  return (
    <label>Colours <select value={theme} onChange={(event) => (setTheme(event.currentTarget.value), setChosen(chosenTheme()))}>
      {THEMES.map(({ value, title }) => <option key={value} value={value}>{title}</option>)}
    </select></label>
  );
}

const STATUS = { good: 'Good', warning: 'Look at this', bad: 'Wrong', unknown: 'Info' };

function Doctor(): JSX.Element {
  const loaded = useLoad((signal) => api<{ checks: Check[]; bad: number; warnings: number }>('doctor', { signal }), []);
  const [all, showAll] = useState(false);
  const isBusy = loaded.state === 'loading';
  if (!loaded.value) return loaded.state === 'failed' ? <Failure error={loaded.error} retry={loaded.again} /> : <Loading>Examining the vault…</Loading>;
  const { checks, bad, warnings } = loaded.value;
  const rank = { bad: 0, warning: 1, unknown: 2, good: 3 };
  const sorted = [...checks].sort((a, b) => rank[a.status] - rank[b.status]);
  const shown = all ? sorted : sorted.filter(({ status }) => status !== 'good');
  return (
    <>
      <p><strong>{bad ? plural(bad, 'thing is', 'things are') + ' wrong.' : warnings ? plural(warnings, 'thing needs', 'things need') + ' a look.' : 'Everything is in order.'}</strong> {plural(checks.length, 'check')} done.
        {' '}<button type="button" class="link" disabled={isBusy} onClick={loaded.again}>{isBusy ? 'Examining…' : 'Check again'}</button></p>
      {shown.length > 0 && (
        <ul class="rows">
          {shown.map((check, i) => (
            <li key={`${check.area} ${check.name} ${i}`} class="card" data-status={check.status}>
              <div>
                <h3>{!check.area ? check.name : check.area.toLowerCase() === check.name ? check.area : `${check.area}: ${check.name}`} <span class="tag" data-status={check.status}>{STATUS[check.status]}</span></h3>
                <p><Words text={check.found} /></p>
                {check.advice && <p class="todo"><Words text={check.advice} /></p>}
              </div>
            </li>
          ))}
        </ul>
      )}
      <button type="button" class="link" aria-expanded={all} onClick={() => showAll(!all)}>{all ? 'Show only what needs attention' : 'Show all checks'}</button>
    </>
  );
}

function Server({ all }: { all: All }): JSX.Element {
  const { server } = all;
  return (
    <dl class="facts card">
      <Fact name="Version">{all.version}</Fact>
      <Fact name="Address"><code>{server.url}</code></Fact>
      <Fact name="Running">started {ago(server.since)}, process {server.pid}</Fact>
      <Fact name="Access">{server.tokensRequired ? 'every program needs a token' : 'programs on this machine need no token'}{server.tls ? '; encrypted' : ''}</Fact>
      <Fact name="Configuration"><code>{all.configFile}</code>{!all.configExists && ' (not written yet)'}</Fact>
      <Fact name="Tools">{plural(all.tools.count, 'tool')}, profile {all.tools.profile}</Fact>
      <Fact name="Claude Code">{!all.ide.enabled ? 'not offered' : all.ide.announced ? 'finds this server with /ide' : 'offered, but not announced'}</Fact>
    </dl>
  );
}
