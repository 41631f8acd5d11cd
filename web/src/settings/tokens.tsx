// Access tokens: make one, see its secret once, revoke it.

import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { api } from '../lib/api';
import { ago, complain, Failure, Icon, Loading, notify, useLoad, useReturn } from '../lib/ui';
import { POLICIES } from '../review/words';
import { Copy } from './copy';
import type { Token } from './model';

const LIFETIMES = [
  { value: '', title: 'Does not expire' },
  { value: '1d', title: '1 day' },
  { value: '30d', title: '30 days' },
  { value: '90d', title: '90 days' },
  { value: '365d', title: '1 year' },
];

const list = (text: string): string[] => text.split(/[\n,]/).map((part) => part.trim()).filter(Boolean);

export function Tokens({ vaults, disabled }: { vaults: string[]; disabled: boolean }): JSX.Element {
  const loaded = useLoad((signal) => api<{ tokens: Token[] }>('tokens', { signal }), []);
  useReturn(loaded.again);
  const [making, make] = useState(false);
  const [made, setMade] = useState<{ token: Token; secret: string } | null>(null);
  const tokens = loaded.value?.tokens;
  const done = (answer: { token: Token; secret: string }): void => {
    make(false);
    setMade(answer);
    loaded.again();
  };
  return (
    <>
      <p>A token lets one program in over HTTP, with no more than you allow. The page's own link may do everything; do not pass it on, make a token.</p>
      {made && (
        <div class="secret banner good" role="status">
          <p><strong>“{made.token.name}” is made.</strong> Copy its secret now: it is not stored and cannot be shown again.</p>
          <p class="copied"><code>{made.secret}</code><Copy text={made.secret} what="the secret" /></p>
          <button type="button" onClick={() => setMade(null)}>I have copied it</button>
        </div>
      )}
      {!tokens ? (loaded.state === 'failed' ? <Failure error={loaded.error} retry={loaded.again} /> : <Loading />)
        : !tokens.length ? <p class="quiet">There are no tokens.</p>
        : <ul class="rows">{tokens.map((token) => <Row key={token.id} token={token} disabled={disabled} again={loaded.again} />)}</ul>}
      {making ? <Make vaults={vaults} disabled={disabled} done={done} cancel={() => make(false)} />
        // Its own key: without one, the list that arrives would take this paragraph, and a press on it would be lost.
        : <p key="make"><button type="button" disabled={disabled} onClick={() => make(true)}><Icon name="plus" />Create a token</button></p>}
    </>
  );
}

function Row({ token, disabled, again }: { token: Token; disabled: boolean; again: () => void }): JSX.Element {
  const [asked, ask] = useState(false);
  const revoke = async (): Promise<void> => {
    try {
      await api(`tokens/${token.id}`, { method: 'DELETE' });
      notify(`“${token.name}” is revoked. Its connections end within two seconds.`);
      again();
    } catch (error) {
      complain(error);
    }
  };
  const may = [token.readOnly ? 'may only read' : 'may read and change', token.vaults.length ? `only ${token.vaults.join(', ')}` : '', token.allow.length ? `only ${token.allow.join(', ')}` : '', token.deny.length ? `not ${token.deny.join(', ')}` : '', token.review !== 'off' ? `review: ${token.review}` : ''];
  const life = token.expired ? 'expired' : token.expires ? `expires ${ago(token.expires)}` : 'does not expire';
  return (
    <li class="card" data-token={token.name}>
      <div>
        <h3>{token.name} {token.expired && <span class="tag">expired</span>}{token.inUse > 0 && <span class="tag">in use by {token.inUse}</span>}</h3>
        <p class="quiet">{[...may, life, `made ${ago(token.created)}`].filter(Boolean).join(' · ')}</p>
      </div>
      {asked ? (
        <div class="sure">
          <p>Programs that use it are cut off.</p>
          <button type="button" class="reject" disabled={disabled} onClick={() => void revoke()}>Revoke</button>
          <button type="button" onClick={() => ask(false)}>Keep</button>
        </div>
      ) : <button type="button" disabled={disabled} onClick={() => ask(true)}>Revoke…</button>}
    </li>
  );
}

interface MakeProps {
  vaults: string[];
  disabled: boolean;
  done: (answer: { token: Token; secret: string }) => void;
  cancel: () => void;
}

function Make({ vaults, disabled, done, cancel }: MakeProps): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  const [error, fail] = useState('');
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!form.current) return;
    const data = new FormData(form.current);
    const text = (name: string): string => String(data.get(name) ?? '');
    const body = { name: text('name').trim(), readOnly: data.has('readOnly'), allow: list(text('allow')), deny: list(text('deny')), vaults: data.getAll('vaults').map(String), expires: text('expires'), review: text('review') || 'off' };
    try {
      done(await api<{ token: Token; secret: string }>('tokens', { body }));
    } catch (reason) {
      fail(reason instanceof Error ? reason.message : String(reason));
    }
  };
  return (
    <form class="make card" ref={form} onSubmit={(event) => void submit(event)} aria-label="Create a token">
      <label>Name <input name="name" type="text" required maxLength={64} placeholder="phone" autocomplete="off" autofocus /></label>
      <label>Lifetime <select name="expires" defaultValue="90d">{LIFETIMES.map(({ value, title }) => <option key={value} value={value}>{title}</option>)}</select></label>
      <label class="check"><input type="checkbox" name="readOnly" defaultChecked />May only read</label>
      <label>Its changes wait for you <select name="review">{POLICIES.map(({ value, title }) => <option key={value} value={value}>{value === 'off' ? 'As set for the vault' : title}</option>)}</select></label>
      {vaults.length > 1 && (
        <fieldset><legend>Vaults (none ticked: all)</legend>{vaults.map((name) => <label key={name} class="check"><input type="checkbox" name="vaults" value={name} />{name}</label>)}</fieldset>
      )}
      <label>Only these paths <input name="allow" type="text" placeholder="Work/**, Shared/**" autocomplete="off" spellcheck={false} /></label>
      <label>Never these paths <input name="deny" type="text" placeholder="Private/**" autocomplete="off" spellcheck={false} /></label>
      {error && <p class="banner bad" role="alert">{error}</p>}
      <div class="acts"><button type="submit" class="accept" disabled={disabled}>Make</button><button type="button" onClick={cancel}>Cancel</button></div>
    </form>
  );
}

