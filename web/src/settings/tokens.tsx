// Access tokens: create one, see its secret once, revoke it.

import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { api } from '../lib/api';
import { CopyableCode } from '../lib/copyable-code';
import { formatAgo } from '../lib/format';
import { useLoad, useTabReturn } from '../lib/hooks';
import { Icon } from '../lib/icons';
import { notify, notifyError } from '../lib/notices';
import { Failure, Loading } from '../lib/states';
import { POLICIES } from '../review/wording';
import type { Token } from './model';

const LIFETIMES = [
  { value: '', title: 'Does not expire' },
  { value: '1d', title: '1 day' },
  { value: '30d', title: '30 days' },
  { value: '90d', title: '90 days' },
  { value: '365d', title: '1 year' },
];

const splitList = (text: string): string[] => text.split(/[\n,]/).map((part) => part.trim()).filter(Boolean);

export function Tokens({ vaults, disabled }: { vaults: string[]; disabled: boolean }): JSX.Element {
  const loaded = useLoad((signal) => api<{ tokens: Token[] }>('tokens', { signal }), []);
  useTabReturn(loaded.reload);
  const [isCreating, setCreating] = useState(false);
  const [created, setCreated] = useState<{ token: Token; secret: string } | null>(null);
  const tokens = loaded.value?.tokens;
  const handleCreated = (answer: { token: Token; secret: string }): void => {
    setCreating(false);
    setCreated(answer);
    loaded.reload();
  };
  return (
    <>
      <p>A token gives one program access over HTTP, to no more than you allow. The page’s own link allows everything: do not share it, create a token instead.</p>
      {created && (
        <div class="secret banner good" role="status">
          <p><strong>“{created.token.name}” was created.</strong> Copy its secret now: it is not stored and cannot be shown again.</p>
          <CopyableCode text={created.secret} what="the secret" />
          <button type="button" onClick={() => setCreated(null)}>I have copied it</button>
        </div>
      )}
      {!tokens ? (loaded.state === 'failed' ? <Failure error={loaded.error} retry={loaded.reload} /> : <Loading />)
        : !tokens.length ? <p class="quiet">There are no tokens.</p>
        : <ul class="rows">{tokens.map((token) => <TokenRow key={token.id} token={token} disabled={disabled} onRevoked={loaded.reload} />)}</ul>}
      {isCreating ? <TokenForm vaults={vaults} disabled={disabled} onCreated={handleCreated} onCancel={() => setCreating(false)} />
        // With a key: otherwise the list, when it arrives, would be rendered into this paragraph, and a press on it would be lost.
        : <p key="create"><button type="button" disabled={disabled} onClick={() => setCreating(true)}><Icon name="plus" />Create a token</button></p>}
    </>
  );
}

function TokenRow({ token, disabled, onRevoked }: { token: Token; disabled: boolean; onRevoked: () => void }): JSX.Element {
  const [isConfirming, setConfirming] = useState(false);
  const revoke = async (): Promise<void> => {
    try {
      await api(`tokens/${token.id}`, { method: 'DELETE' });
      notify(`“${token.name}” was revoked. Its connections end within two seconds.`);
      onRevoked();
    } catch (error) {
      notifyError(error);
    }
  };
  const permissions = [token.readOnly ? 'read-only' : 'can read and change notes', token.vaults.length ? `only ${token.vaults.join(', ')}` : '', token.allow.length ? `only ${token.allow.join(', ')}` : '', token.deny.length ? `not ${token.deny.join(', ')}` : '', token.review !== 'off' ? `review: ${token.review}` : ''];
  const lifetime = token.expired ? 'expired' : token.expires ? `expires ${formatAgo(token.expires)}` : 'does not expire';
  return (
    <li class="card" data-token={token.name}>
      <div>
        <h3>{token.name} {token.expired && <span class="tag">expired</span>}{token.inUse > 0 && <span class="tag">in use by {token.inUse}</span>}</h3>
        <p class="quiet">{[...permissions, lifetime, `created ${formatAgo(token.created)}`].filter(Boolean).join(' · ')}</p>
      </div>
      {isConfirming ? (
        <div class="confirm">
          <p>Programs that use it are disconnected.</p>
          <button type="button" class="reject" disabled={disabled} onClick={() => void revoke()}>Revoke</button>
          <button type="button" onClick={() => setConfirming(false)}>Cancel</button>
        </div>
      ) : <button type="button" disabled={disabled} onClick={() => setConfirming(true)}>Revoke…</button>}
    </li>
  );
}

interface TokenFormProps {
  vaults: string[];
  disabled: boolean;
  onCreated: (answer: { token: Token; secret: string }) => void;
  onCancel: () => void;
}

function TokenForm({ vaults, disabled, onCreated, onCancel }: TokenFormProps): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  const [error, setError] = useState('');
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!form.current) return;
    const data = new FormData(form.current);
    const text = (name: string): string => String(data.get(name) ?? '');
    const body = { name: text('name').trim(), readOnly: data.has('readOnly'), allow: splitList(text('allow')), deny: splitList(text('deny')), vaults: data.getAll('vaults').map(String), expires: text('expires'), review: text('review') || 'off' };
    try {
      onCreated(await api<{ token: Token; secret: string }>('tokens', { body }));
    } catch (reason) {
      setError(reason instanceof Error ? reason.message : String(reason));
    }
  };
  return (
    <form class="token-form card" ref={form} onSubmit={(event) => void submit(event)} aria-label="Create a token">
      <label>Name <input name="name" type="text" required maxLength={64} placeholder="phone" autocomplete="off" autofocus /></label>
      <label>Lifetime <select name="expires" defaultValue="90d">{LIFETIMES.map(({ value, title }) => <option key={value} value={value}>{title}</option>)}</select></label>
      <label class="check"><input type="checkbox" name="readOnly" defaultChecked />Read-only</label>
      <label>Review its changes <select name="review">{POLICIES.map(({ value, title }) => <option key={value} value={value}>{value === 'off' ? 'As set for the vault' : title}</option>)}</select></label>
      {vaults.length > 1 && (
        <fieldset><legend>Vaults (all if none is ticked)</legend>{vaults.map((name) => <label key={name} class="check"><input type="checkbox" name="vaults" value={name} />{name}</label>)}</fieldset>
      )}
      <label>Only these paths <input name="allow" type="text" placeholder="Work/**, Shared/**" autocomplete="off" spellcheck={false} /></label>
      <label>Never these paths <input name="deny" type="text" placeholder="Private/**" autocomplete="off" spellcheck={false} /></label>
      {error && <p class="banner bad" role="alert">{error}</p>}
      <div class="actions"><button type="submit" class="accept" disabled={disabled}>Create</button><button type="button" onClick={onCancel}>Cancel</button></div>
    </form>
  );
}

