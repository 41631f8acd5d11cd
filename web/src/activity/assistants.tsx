// Who is connected, what each has done, and the presses that pause or end that.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { live } from '../lib/live';
import { href } from '../lib/router';
import { ago, complain, Failure, Icon, Loading, notify, plural, useLoad } from '../lib/ui';
import { useValue } from '../lib/value';
import { askAssistants, known, type Known } from './known';
import type { Assistant } from './model';

const GONE = 5; // assistants that have gone and are still listed here

type Act = 'pause' | 'resume' | 'disconnect';

async function act(what: Act, one?: Assistant): Promise<void> {
  try {
    await askAssistants(one ? `assistants/${one.id}/${what}` : `assistants/${what}`, { body: {} });
    const who = one ? one.name : 'All assistants';
    const words = { pause: `${who} ${one ? 'is' : 'are'} paused: calls are refused until you resume.`, resume: `${who} may go on.`, disconnect: `${who} ${one ? 'is' : 'are'} cut off, and may not come back before you resume.` };
    notify(words[what], 'good', what !== 'resume' ? { label: 'Resume', run: () => void act('resume', one) } : undefined);
  } catch (error) {
    complain(error);
  }
}

/** Asks once for all: events that came before this module was loaded are not repeated. */
export function useKnown(): { now: Known | null; error: Error | null; again: () => void } {
  const hello = useValue(live.hello);
  const loaded = useLoad((signal) => askAssistants('assistants', { signal }), [hello]);
  const now = useValue(known);
  return { now, error: loaded.state === 'failed' ? loaded.error : null, again: loaded.again };
}

export function Assistants({ disabled }: { disabled: boolean }): JSX.Element {
  const { now, error, again } = useKnown();
  const [all, showAll] = useState(false);
  if (!now) return error ? <Failure error={error} retry={again} /> : <Loading />;
  // One that was cut off stays in sight while it is paused: it may come back when it is resumed.
  const connected = now.assistants.filter((one) => one.connected || one.paused).sort((a, b) => Number(b.connected) - Number(a.connected) || b.since - a.since);
  const gone = now.assistants.filter((one) => !one.connected && !one.paused).sort((a, b) => (b.ended ?? 0) - (a.ended ?? 0)).slice(0, GONE);
  return (
    <section class="assistants" aria-labelledby="assistants-title">
      <header>
        <h2 id="assistants-title">Assistants</h2>
        {now.pausedAll ? <button type="button" class="accept" disabled={disabled} onClick={() => void act('resume')}>Resume all</button>
          : connected.length > 0 && <button type="button" disabled={disabled} onClick={() => void act('pause')}><Icon name="pause" />Pause all</button>}
        {connected.length > 1 && <button type="button" class="reject" disabled={disabled} onClick={() => void act('disconnect')}>Cut off all</button>}
      </header>
      {now.pausedAll && <p class="banner warn" role="status">All assistants are paused, including those that connect later.</p>}
      {!connected.length && (
        <div class="assistants-none">
          <p>None is connected.</p>
          <p class="quiet">Connect one with <code>vaultbridge connect</code>, or type <code>/ide</code> in Claude Code. <a href={href('settings', 'assistants')}>How to connect</a></p>
        </div>
      )}
      <ul>{connected.map((one) => <One key={one.id} one={one} disabled={disabled} pausedAll={now.pausedAll} />)}</ul>
      {gone.length > 0 && <button type="button" class="link" aria-expanded={all} onClick={() => showAll(!all)}>{all ? 'Hide' : 'Show'} {plural(gone.length, 'assistant')} that {gone.length === 1 ? 'has' : 'have'} gone</button>}
      {all && <ul>{gone.map((one) => <One key={one.id} one={one} disabled={disabled} pausedAll={now.pausedAll} />)}</ul>}
    </section>
  );
}

function One({ one, disabled, pausedAll }: { one: Assistant; disabled: boolean; pausedAll: boolean }): JSX.Element {
  const isPaused = one.paused || pausedAll;
  const process = one.process && [one.process.parent?.name, `process ${one.process.pid}`].filter(Boolean).join(', ');
  const from = process || one.address;
  return (
    <li class="assistant card" data-id={one.id} data-state={isPaused && (one.connected || one.paused) ? 'paused' : one.connected ? 'connected' : 'gone'}>
      <h3>{one.name}{isPaused && (one.connected || one.paused) && <span class="tag">{one.connected ? 'paused' : 'cut off'}</span>}</h3>
      <p>{one.did || (one.connected ? 'has done nothing yet' : 'did nothing')}</p>
      {one.running.length > 0 && <p class="quiet">at work: {one.running.join(', ')}</p>}
      <p class="quiet">{one.connected ? `connected ${ago(one.since)}` : `left ${ago(one.ended ?? one.since)}`} · {plural(one.calls, 'call')}{one.failed > 0 && `, ${one.failed} failed`}</p>
      <p class="quiet assistant-from">{[one.via, one.version && `${one.client} ${one.version}`, one.token && `token “${one.token.name}”`, from].filter(Boolean).join(' · ')}</p>
      <div class="assistant-acts">
        {(one.connected || one.paused) && (one.paused ? <button type="button" disabled={disabled} onClick={() => void act('resume', one)}>Resume</button>
          : !pausedAll && <button type="button" disabled={disabled} onClick={() => void act('pause', one)}><Icon name="pause" />Pause</button>)}
        {one.connected && <button type="button" class="reject" disabled={disabled} onClick={() => void act('disconnect', one)}>Cut off</button>}
        <a class="button" href={href('activity', '', { assistant: one.id })}>What it did</a>
      </div>
    </li>
  );
}
