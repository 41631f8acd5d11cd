// The messages between assistants and the server as they are sent, for people who write clients.

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api } from '../lib/api';
import { formatBytes, formatDuration, formatTime } from '../lib/format';
import { useLoad } from '../lib/hooks';
import { Icon } from '../lib/icons';
import { live } from '../lib/live';
import { notifyError } from '../lib/notices';
import { RequestOrder } from '../lib/request-order';
import { EmptyState, Failure, Loading } from '../lib/states';
import { useStore } from '../lib/store';
import { useAssistants } from './assistant-list';
import type { Message } from './model';

const MAX_MESSAGES = 1000; // held here; the server holds more
const MAX_ROWS = 300; // rendered
const PAGE_SIZE = 200; // messages requested at once

interface Trace {
  messages: Message[];
  last: number;
  json: boolean;
}

export function Protocol(): JSX.Element {
  const [messages, setMessages] = useState<Message[]>([]);
  const [isPaused, setPaused] = useState(false);
  const [recordsJson, setRecordsJson] = useState(false); // as chosen here
  const [isRecording, setRecording] = useState(false); // as the server has confirmed
  const [text, setText] = useState('');
  const [direction, setDirection] = useState('');
  const [assistant, setAssistant] = useState('');
  const [openMessage, setOpenMessage] = useState<number | null>(null);
  const names = new Map((useAssistants().list?.assistants ?? []).map(({ id, name }) => [id, name]));
  const hello = useStore(live.hello);
  const order = useMemo(() => new RequestOrder(), []);
  const started = useRef(0);
  const loaded = useLoad((signal) => {
    setMessages([]);
    started.current = order.start();
    return api<Trace>('trace', { query: { limit: PAGE_SIZE }, signal });
  }, [hello]);
  const latestPaused = useRef(isPaused);
  latestPaused.current = isPaused;
  const clearedTo = useRef(0); // the number of the last message that was cleared

  useEffect(() => {
    // Messages that were cleared while they were being loaded must not appear.
    if (loaded.state !== 'done' || !order.accept('list', started.current)) return;
    // A restarted server counts from 1 again.
    if (loaded.value.last < clearedTo.current) clearedTo.current = 0;
    add(loaded.value.messages);
  }, [loaded.state, loaded.value]);
  const add = (fresh: Message[]): void =>
    setMessages((old) => {
      const byNumber = new Map(old.map((message) => [message.n, message]));
      for (const message of fresh) if (message.n > clearedTo.current) byNumber.set(message.n, message);
      return [...byNumber.values()].sort((a, b) => a.n - b.n).slice(-MAX_MESSAGES);
    });
  useEffect(() => {
    const watch = (): void => void live.request<{ json: boolean }>('watchTrace', { on: true, json: recordsJson }).then(({ json }) => setRecording(json), notifyError);
    if (live.state.get().status === 'connected') watch();
    const unsubscribes = [live.hello.subscribe((hello) => void (hello && watch())), live.on('traceAdded', ({ messages: fresh }: { messages: Message[] }) => void (latestPaused.current || add(fresh)))];
    return () => {
      for (const unsubscribe of unsubscribes) unsubscribe();
      if (live.state.get().status === 'connected') void live.request('watchTrace', { on: false, json: false }).catch(() => null);
    };
  }, [recordsJson]);
  const resume = (): void => {
    setPaused(false);
    void api<Trace>('trace', { query: { after: messages.at(-1)?.n ?? 0, limit: PAGE_SIZE } }).then(({ messages: missed }) => add(missed), notifyError);
  };
  const shown = useMemo(() => {
    const query = text.trim().toLowerCase();
    return messages.filter((message) => (!query || `${message.method} ${message.tool} ${message.type} ${message.rpc ?? ''}`.toLowerCase().includes(query)) && (!direction || message.direction === direction) && (!assistant || message.assistant === assistant)).slice(-MAX_ROWS).reverse();
  }, [messages, text, direction, assistant]);
  const clear = (): void => {
    clearedTo.current = messages.at(-1)?.n ?? clearedTo.current;
    order.accept('list');
    setMessages([]);
    setOpenMessage(null);
  };

  return (
    <div class="protocol">
      <form class="filters" aria-label="Filter messages" onSubmit={(event) => event.preventDefault()}>
        <label>Method or tool <input type="search" value={text} placeholder="tools/call" autocomplete="off" spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} /></label>
        <label>Direction <select value={direction} onChange={(event) => setDirection(event.currentTarget.value)}>
          <option value="">Both</option><option value="in">From assistants</option><option value="out">To assistants</option>
        </select></label>
        <label>Assistant <select value={assistant} onChange={(event) => setAssistant(event.currentTarget.value)}>
          <option value="">All</option>{[...names].map(([id, name]) => <option key={id} value={id}>{name}</option>)}
        </select></label>
        <div class="protocol-actions">
          <button type="button" aria-pressed={isPaused} onClick={() => (isPaused ? resume() : setPaused(true))}><Icon name="pause" />{isPaused ? 'Resume' : 'Pause'}</button>
          <button type="button" onClick={clear}>Clear</button>
          <label class="check"><input type="checkbox" checked={recordsJson} aria-busy={recordsJson !== isRecording} onChange={(event) => setRecordsJson(event.currentTarget.checked)} />Record JSON from now on</label>
        </div>
      </form>
      <p class="quiet">The JSON of messages contains the text of notes. It is held in memory, and only while recording is on.</p>
      {loaded.state === 'failed' && <Failure error={loaded.error} retry={loaded.reload} />}
      {loaded.state === 'loading' && !messages.length && <Loading />}
      {loaded.state === 'done' && !shown.length && <EmptyState icon="activity" title={messages.length ? 'No message matches this filter' : 'No messages yet'}><p>Every message between an assistant and this server appears here as it is sent.</p></EmptyState>}
      {shown.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Messages">
          <table class="messages">
            <thead><tr><th scope="col">Time</th><th scope="col">Assistant</th><th scope="col">Message</th><th scope="col" class="number">Took</th><th scope="col" class="number">Size</th></tr></thead>
            <tbody>{shown.map((message) => <MessageRow key={message.n} message={message} name={names.get(message.assistant) ?? message.assistant} isOpen={openMessage === message.n} isRecording={recordsJson} onToggle={() => setOpenMessage(openMessage === message.n ? null : message.n)} />)}</tbody>
          </table>
        </div>
      )}
    </div>
  );
}

function MessageRow({ message, name, isOpen, isRecording, onToggle }: { message: Message; name: string; isOpen: boolean; isRecording: boolean; onToggle: () => void }): JSX.Element {
  const title = [message.method || message.type, message.tool].filter(Boolean).join(' · ');
  return (
    <>
      <tr data-type={message.type} data-direction={message.direction}>
        <td><time>{formatTime(message.at)}</time></td>
        <td>{name}</td>
        <th scope="row">
          <button type="button" class="link" aria-expanded={isOpen} onClick={onToggle}>
            <span class="arrow" aria-label={message.direction === 'in' ? 'received' : 'sent'} role="img">{message.direction === 'in' ? '→' : '←'}</span> {title}
          </button> <span class="tag">{message.type}{message.rpc !== null && ` ${message.rpc}`}</span>
        </th>
        <td class="number">{formatDuration(message.ms)}</td>
        <td class="number">{formatBytes(message.bytes)}</td>
      </tr>
      {isOpen && <tr class="message-json"><td colSpan={5}><MessageJson n={message.n} isRecording={isRecording} /></td></tr>}
    </>
  );
}

function MessageJson({ n, isRecording }: { n: number; isRecording: boolean }): JSX.Element {
  const loaded = useLoad((signal) => api<{ json: string | null; cut: boolean; why: string }>(`trace/${n}`, { signal }), [n]);
  if (!loaded.value) return loaded.state === 'failed' ? <Failure error={loaded.error} /> : <Loading />;
  const { json, cut, why } = loaded.value;
  if (json === null) return <p class="quiet">{why || `The JSON of this message was not recorded. ${isRecording ? 'Later messages are recorded.' : 'Switch on “Record JSON from now on”.'}`}</p>;
  return <><pre tabIndex={0}>{cut ? json : formatJson(json)}</pre>{cut && <p class="quiet">Only the beginning was recorded.</p>}</>;
}

function formatJson(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
