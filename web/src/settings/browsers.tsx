// The browsers that stay signed in: this one can be added, and each can be signed out.

import type { JSX } from 'preact';
import { formatAgo } from '../lib/format';
import { useTabReturn } from '../lib/hooks';
import { notify, notifyError } from '../lib/notices';
import { getBrowserId, loadSignedInBrowsers, signedInBrowsers, signOut, staySignedIn } from '../lib/sign-in';
import { Loading } from '../lib/states';
import { useStore } from '../lib/store';

export function SignedInBrowsers({ disabled }: { disabled: boolean }): JSX.Element {
  const browsers = useStore(signedInBrowsers);
  useTabReturn(() => void loadSignedInBrowsers().catch(() => undefined));
  if (!browsers) return <Loading />;
  const isKept = browsers.some(({ id }) => id === getBrowserId());
  const remove = (id: string): void => void signOut(id).then(() => notify('Signed out. A tab that is open there stays open until it is closed.'), notifyError);
  return (
    <>
      <p>A browser that stays signed in opens this page without a link, also from a bookmark and after a restart. It is signed out if it is not used for 90 days.</p>
      {browsers.length > 0 && (
        <ul class="rows">
          {browsers.map(({ id, name, used }) => (
            <li key={id} class="card">
              <div><h3>{name} {id === getBrowserId() && <span class="tag">this browser</span>}</h3><p class="quiet">used {formatAgo(used)}</p></div>
              <button type="button" disabled={disabled} onClick={() => remove(id)}>Sign out</button>
            </li>
          ))}
        </ul>
      )}
      {!isKept && <p key="keep"><button type="button" disabled={disabled} onClick={() => void staySignedIn().then(() => notify('This browser stays signed in.'), notifyError)}>Keep me signed in on this browser</button></p>}
    </>
  );
}
