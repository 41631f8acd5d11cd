// Who is connected, what each has done, and the buttons that pause or disconnect it.

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

async function act(action: Act, assistant?: Assistant): Promise<void> {
  try {
    await askAssistants(assistant ? `assistants/${assistant.id}/${action}` : `assistants/${action}`, { body: {} });
    const who = assistant ? assistant.name : 'All assistants';
    const words = { pause: `${who} ${assistant ? 'is' : 'are'} paused: calls are refused until you resume.`, resume: `${who} may go on.`, disconnect: `${who} ${assistant ? 'is' : 'are'} cut off, and may not come back before you resume.` };
    notify(words[action], 'good', action !== 'resume' ? { label: 'Resume', run: () => void act('resume', assistant) } : undefined);
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
  // A disconnected assistant is listed while it is paused: it may reconnect when it is resumed.
  const connected = now.assistants.filter((assistant) => assistant.connected || assistant.paused).sort((a, b) => Number(b.connected) - Number(a.connected) || b.since - a.since);
  const gone = now.assistants.filter((assistant) => !assistant.connected && !assistant.paused).sort((a, b) => (b.ended ?? 0) - (a.ended ?? 0)).slice(0, GONE);
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
      <ul>{connected.map((assistant) => <AssistantCard key={assistant.id} assistant={assistant} disabled={disabled} pausedAll={now.pausedAll} />)}</ul>
      {gone.length > 0 && <button type="button" class="link" aria-expanded={all} onClick={() => showAll(!all)}>{all ? 'Hide' : 'Show'} {plural(gone.length, 'assistant')} that {gone.length === 1 ? 'has' : 'have'} gone</button>}
      {all && <ul>{gone.map((assistant) => <AssistantCard key={assistant.id} assistant={assistant} disabled={disabled} pausedAll={now.pausedAll} />)}</ul>}
    </section>
  );
}

function AssistantCard({ assistant, disabled, pausedAll }: { assistant: Assistant; disabled: boolean; pausedAll: boolean }): JSX.Element {
  const isPaused = assistant.paused || pausedAll;
  const process = assistant.process && [assistant.process.parent?.name, `process ${assistant.process.pid}`].filter(Boolean).join(', ');
  const from = process || assistant.address;
  return (
    <li class="assistant card" data-id={assistant.id} data-state={isPaused && (assistant.connected || assistant.paused) ? 'paused' : assistant.connected ? 'connected' : 'gone'}>
      <h3>{assistant.name}{isPaused && (assistant.connected || assistant.paused) && <span class="tag">{assistant.connected ? 'paused' : 'cut off'}</span>}</h3>
      <p>{assistant.did || (assistant.connected ? 'has done nothing yet' : 'did nothing')}</p>
      {assistant.running.length > 0 && <p class="quiet">at work: {assistant.running.join(', ')}</p>}
      <p class="quiet">{assistant.connected ? `connected ${ago(assistant.since)}` : `left ${ago(assistant.ended ?? assistant.since)}`} · {plural(assistant.calls, 'call')}{assistant.failed > 0 && `, ${assistant.failed} failed`}</p>
      <p class="quiet assistant-from">{[assistant.via, assistant.version && `${assistant.client} ${assistant.version}`, assistant.token && `token “${assistant.token.name}”`, from].filter(Boolean).join(' · ')}</p>
      <div class="assistant-acts">
        {(assistant.connected || assistant.paused) && (assistant.paused ? <button type="button" disabled={disabled} onClick={() => void act('resume', assistant)}>Resume</button>
          : !pausedAll && <button type="button" disabled={disabled} onClick={() => void act('pause', assistant)}><Icon name="pause" />Pause</button>)}
        {assistant.connected && <button type="button" class="reject" disabled={disabled} onClick={() => void act('disconnect', assistant)}>Cut off</button>}
        <a class="button" href={href('activity', '', { assistant: assistant.id })}>What it did</a>
      </div>
    </li>
  );
}
