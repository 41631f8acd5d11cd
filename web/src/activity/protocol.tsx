// The messages between assistants and the server as they pass, for people who write clients.

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api } from '../lib/api';
import { live } from '../lib/live';
import { complain, Empty, Failure, Icon, Loading, useLoad } from '../lib/ui';
import { Order, useValue } from '../lib/value';
import { useKnown } from './assistants';
import { bytes, clock, type Message, ms } from './model';

const KEPT = 1000; // messages in the table; the server keeps more
const ROWS = 300; // rows drawn

interface Trace {
  messages: Message[];
  last: number;
  json: boolean;
}

export function Protocol(): JSX.Element {
  const [messages, set] = useState<Message[]>([]);
  const [isPaused, pause] = useState(false);
  const [keeps, keep] = useState(false); // as the box says
  const [isKept, setKept] = useState(false); // as the server has said
  const [text, setText] = useState('');
  const [direction, setDirection] = useState('');
  const [who, setWho] = useState('');
  const [open, setOpen] = useState<number | null>(null);
  const names = new Map((useKnown().now?.assistants ?? []).map((assistant) => [assistant.id, assistant.name]));
  const hello = useValue(live.hello);
  const order = useMemo(() => new Order(), []);
  const asked = useRef(0);
  const loaded = useLoad((signal) => {
    set([]);
    asked.current = order.ask();
    return api<Trace>('trace', { query: { limit: 200 }, signal });
  }, [hello]);
  const paused = useRef(isPaused);
  paused.current = isPaused;
  const cleared = useRef(0);

  useEffect(() => {
    // Messages that were cleared while they were loading must not appear.
    if (loaded.state !== 'done' || !order.take('list', asked.current)) return;
    // A restarted server counts from the start.
    if (loaded.value.last < cleared.current) cleared.current = 0;
    add(loaded.value.messages);
  }, [loaded.state, loaded.value]);
  const add = (fresh: Message[]): void =>
    set((old) => {
      const all = new Map(old.map((message) => [message.n, message]));
      for (const message of fresh) if (message.n > cleared.current) all.set(message.n, message);
      return [...all.values()].sort((a, b) => a.n - b.n).slice(-KEPT);
    });
  useEffect(() => {
    const watch = (): void => void live.ask<{ json: boolean }>('watchTrace', { on: true, json: keeps }).then(({ json }) => setKept(json), complain);
    if (live.state.get().word === 'connected') watch();
    const ends = [live.hello.watch((hello) => void (hello && watch())), live.on('traceAdded', ({ messages: fresh }: { messages: Message[] }) => void (paused.current || add(fresh)))];
    return () => {
      for (const end of ends) end();
      if (live.state.get().word === 'connected') void live.ask('watchTrace', { on: false, json: false }).catch(() => null);
    };
  }, [keeps]);
  const resume = (): void => {
    pause(false);
    void api<Trace>('trace', { query: { after: messages.at(-1)?.n ?? 0, limit: 200 } }).then(({ messages: missed }) => add(missed), complain);
  };
  const shown = useMemo(() => {
    const words = text.trim().toLowerCase();
    return messages.filter((message) => (!words || `${message.method} ${message.tool} ${message.type} ${message.rpc ?? ''}`.toLowerCase().includes(words)) && (!direction || message.direction === direction) && (!who || message.assistant === who)).slice(-ROWS).reverse();
  }, [messages, text, direction, who]);
  const clear = (): void => {
    cleared.current = messages.at(-1)?.n ?? cleared.current;
    order.take('list');
    set([]);
    setOpen(null);
  };

  return (
    <div class="protocol">
      <form class="filters" aria-label="Filter messages" onSubmit={(event) => event.preventDefault()}>
        <label>Method or tool <input type="search" value={text} placeholder="tools/call" autocomplete="off" spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} /></label>
        <label>Direction <select value={direction} onChange={(event) => setDirection(event.currentTarget.value)}>
          <option value="">Both</option><option value="in">From assistants</option><option value="out">To assistants</option>
        </select></label>
        <label>Assistant <select value={who} onChange={(event) => setWho(event.currentTarget.value)}>
          <option value="">All</option>{[...names].map(([id, name]) => <option key={id} value={id}>{name}</option>)}
        </select></label>
        <div class="protocol-acts">
          <button type="button" aria-pressed={isPaused} onClick={() => (isPaused ? resume() : pause(true))}><Icon name="pause" />{isPaused ? 'Resume' : 'Pause'}</button>
          <button type="button" onClick={clear}>Clear</button>
          <label class="check"><input type="checkbox" checked={keeps} aria-busy={keeps !== isKept} onChange={(event) => keep(event.currentTarget.checked)} />Keep the JSON from now on</label>
        </div>
      </form>
      <p class="quiet">The JSON of messages contains the text of notes. It is kept in memory only while this is on.</p>
      {loaded.state === 'failed' && <Failure error={loaded.error} retry={loaded.again} />}
      {loaded.state === 'loading' && !messages.length && <Loading />}
      {loaded.state === 'done' && !shown.length && <Empty icon="activity" title={messages.length ? 'No message matches this filter' : 'No messages yet'}><p>Every message between an assistant and this server appears here as it is sent.</p></Empty>}
      {shown.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Messages">
          <table class="messages">
            <thead><tr><th scope="col">Time</th><th scope="col">Assistant</th><th scope="col">Message</th><th scope="col" class="number">Took</th><th scope="col" class="number">Size</th></tr></thead>
            <tbody>{shown.map((message) => <MessageRow key={message.n} message={message} name={names.get(message.assistant) ?? message.assistant} isOpen={open === message.n} keeps={keeps} toggle={() => setOpen(open === message.n ? null : message.n)} />)}</tbody>
          </table>
        </div>
      )}
    </div>
  );
}

function MessageRow({ message, name, isOpen, keeps, toggle }: { message: Message; name: string; isOpen: boolean; keeps: boolean; toggle: () => void }): JSX.Element {
  const title = [message.method || message.type, message.tool].filter(Boolean).join(' · ');
  return (
    <>
      <tr data-type={message.type} data-direction={message.direction}>
        <td><time>{clock(message.at)}</time></td>
        <td>{name}</td>
        <th scope="row">
          <button type="button" class="link" aria-expanded={isOpen} onClick={toggle}>
            <span class="arrow" aria-label={message.direction === 'in' ? 'received' : 'sent'} role="img">{message.direction === 'in' ? '→' : '←'}</span> {title}
          </button> <span class="tag">{message.type}{message.rpc !== null && ` ${message.rpc}`}</span>
        </th>
        <td class="number">{ms(message.ms)}</td>
        <td class="number">{bytes(message.bytes)}</td>
      </tr>
      {isOpen && <tr class="message-json"><td colSpan={5}><Json n={message.n} keeps={keeps} /></td></tr>}
    </>
  );
}

function Json({ n, keeps }: { n: number; keeps: boolean }): JSX.Element {
  const loaded = useLoad((signal) => api<{ json: string | null; cut: boolean; why: string }>(`trace/${n}`, { signal }), [n]);
  if (!loaded.value) return loaded.state === 'failed' ? <Failure error={loaded.error} /> : <Loading />;
  const { json, cut, why } = loaded.value;
  if (json === null) return <p class="quiet">{why || `The JSON of this message was not kept. ${keeps ? 'That of later ones is.' : 'Switch on “Keep the JSON from now on”.'}`}</p>;
  return <><pre tabIndex={0}>{cut ? json : pretty(json)}</pre>{cut && <p class="quiet">The beginning; the rest was not kept.</p>}</>;
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
