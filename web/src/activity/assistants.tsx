// The assistants: who is connected, what each has done, and buttons to pause or disconnect it.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { formatAgo, pluralize } from '../lib/format';
import { Icon } from '../lib/icons';
import { notify, notifyError } from '../lib/notices';
import { href } from '../lib/router';
import { Failure, Loading } from '../lib/states';
import { requestAssistants, useAssistants } from './assistant-list';
import type { Assistant } from './model';

const MAX_DISCONNECTED = 5; // listed here; the timeline has all

type Action = 'pause' | 'resume' | 'disconnect';

async function control(action: Action, assistant?: Assistant): Promise<void> {
  try {
    await requestAssistants(assistant ? `assistants/${assistant.id}/${action}` : `assistants/${action}`, { body: {} });
    const [name, are, them] = assistant ? [assistant.name, 'is', 'it'] : ['All assistants', 'are', 'them'];
    const texts = {
      pause: `${name} ${are} paused: calls are refused until you resume ${them}.`,
      resume: `${name} can continue.`,
      disconnect: `${name} ${are} disconnected, and cannot reconnect until you resume ${them}.`,
    };
    notify(texts[action], 'good', action !== 'resume' ? { label: 'Resume', run: () => void control('resume', assistant) } : undefined);
  } catch (error) {
    notifyError(error);
  }
}

export function Assistants({ disabled }: { disabled: boolean }): JSX.Element {
  const { list, error, reload } = useAssistants();
  const [isExpanded, setExpanded] = useState(false);
  if (!list) return error ? <Failure error={error} retry={reload} /> : <Loading />;
  // A disconnected assistant stays listed while it is paused, so that it can be resumed.
  const connected = list.assistants.filter((assistant) => assistant.connected || assistant.paused).sort((a, b) => Number(b.connected) - Number(a.connected) || b.since - a.since);
  const disconnected = list.assistants.filter((assistant) => !assistant.connected && !assistant.paused).sort((a, b) => (b.ended ?? 0) - (a.ended ?? 0)).slice(0, MAX_DISCONNECTED);
  return (
    <section class="assistants" aria-labelledby="assistants-title">
      <header>
        <h2 id="assistants-title">Assistants</h2>
        {list.pausedAll ? <button type="button" class="accept" disabled={disabled} onClick={() => void control('resume')}>Resume all</button>
          : connected.length > 0 && <button type="button" disabled={disabled} onClick={() => void control('pause')}><Icon name="pause" />Pause all</button>}
        {connected.length > 1 && <button type="button" class="reject" disabled={disabled} onClick={() => void control('disconnect')}>Disconnect all</button>}
      </header>
      {list.pausedAll && <p class="banner warn" role="status">All assistants are paused, including those that connect later.</p>}
      {!connected.length && (
        <div class="assistants-none">
          <p>No assistant is connected.</p>
          <p class="quiet">Connect one with <code>vaultbridge connect</code>, or type <code>/ide</code> in Claude Code. <a href={href('settings', 'assistants')}>How to connect</a></p>
        </div>
      )}
      <ul>{connected.map((assistant) => <AssistantCard key={assistant.id} assistant={assistant} disabled={disabled} pausedAll={list.pausedAll} />)}</ul>
      {disconnected.length > 0 && <button type="button" class="link" aria-expanded={isExpanded} onClick={() => setExpanded(!isExpanded)}>{isExpanded ? 'Hide' : 'Show'} {pluralize(disconnected.length, 'disconnected assistant')}</button>}
      {isExpanded && <ul>{disconnected.map((assistant) => <AssistantCard key={assistant.id} assistant={assistant} disabled={disabled} pausedAll={list.pausedAll} />)}</ul>}
    </section>
  );
}

function AssistantCard({ assistant, disabled, pausedAll }: { assistant: Assistant; disabled: boolean; pausedAll: boolean }): JSX.Element {
  const isListed = assistant.connected || assistant.paused;
  const showsPaused = isListed && (assistant.paused || pausedAll);
  const process = assistant.process && [assistant.process.parent?.name, `process ${assistant.process.pid}`].filter(Boolean).join(', ');
  const origin = process || assistant.address;
  return (
    <li class="assistant card" data-id={assistant.id} data-state={showsPaused ? 'paused' : assistant.connected ? 'connected' : 'disconnected'}>
      <h3>{assistant.name}{showsPaused && <span class="tag">{assistant.connected ? 'paused' : 'disconnected'}</span>}</h3>
      <p>{assistant.summary || (assistant.connected ? 'No activity yet' : 'No activity')}</p>
      {assistant.running.length > 0 && <p class="quiet">running: {assistant.running.join(', ')}</p>}
      <p class="quiet">{assistant.connected ? `connected ${formatAgo(assistant.since)}` : `disconnected ${formatAgo(assistant.ended ?? assistant.since)}`} · {pluralize(assistant.calls, 'call')}{assistant.failed > 0 && `, ${assistant.failed} failed`}</p>
      <p class="quiet assistant-from">{[assistant.via, assistant.version && `${assistant.client} ${assistant.version}`, assistant.token && `token “${assistant.token.name}”`, origin].filter(Boolean).join(' · ')}</p>
      <div class="assistant-actions">
        {isListed && (assistant.paused ? <button type="button" disabled={disabled} onClick={() => void control('resume', assistant)}>Resume</button>
          : !pausedAll && <button type="button" disabled={disabled} onClick={() => void control('pause', assistant)}><Icon name="pause" />Pause</button>)}
        {assistant.connected && <button type="button" class="reject" disabled={disabled} onClick={() => void control('disconnect', assistant)}>Disconnect</button>}
        <a class="button" href={href('activity', '', { assistant: assistant.id })}>Its activity</a>
      </div>
    </li>
  );
}
