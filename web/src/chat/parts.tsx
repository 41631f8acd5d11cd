// What all views in a chat share: how they start, and what they show before there is a result.

import { type ComponentChildren, type JSX, render } from 'preact';
import { useState } from 'preact/hooks';
import { nameOf } from '../graph/model';
import { Host, textOf, type ToolResult } from './host';

export interface ViewProps {
  host: Host;
  /** The arguments of the call. */
  input: Record<string, unknown>;
  result: ToolResult;
}

interface State {
  input: Record<string, unknown>;
  result: ToolResult | null;
  ended: string;
}

/** Draws a view as soon as the program says what to show. `waiting` stands there until then. */
export function start(name: string, waiting: string, View: (props: ViewProps) => JSX.Element): void {
  const place = document.getElementById('view');
  if (!place) return;
  let state: State = { input: {}, result: null, ended: '' };
  let number = 0;
  const draw = (change: Partial<State>): void => {
    state = { ...state, ...change };
    if ('result' in change) number++;
    const { input, result, ended } = state;
    render(ended ? <p class="quiet" role="status">{ended}</p> : !result ? <p class="quiet" role="status">{waiting}</p> : result.isError ? <Words text={textOf(result)} bad /> : <View key={number} host={host} input={input} result={result} />, place);
  };
  const host = new Host({
    input: (input) => draw({ input }),
    result: (result) => draw({ result, ended: '' }),
    cancelled: (reason) => draw({ ended: `The call was cancelled${reason ? `: ${reason}` : ''}.` }),
  });
  draw({});
  if (window.parent === window) draw({ ended: 'This page is shown by an assistant’s program, next to an answer from vaultbridge.' });
  else host.start(name).catch((error: Error) => draw({ ended: error.message }));
}

/** An answer that has nothing but its text. */
export function Words({ text, bad = false }: { text: string; bad?: boolean }): JSX.Element {
  return <pre class={bad ? 'words bad' : 'words'} role={bad ? 'alert' : undefined} tabIndex={0}>{text}</pre>;
}

/** An error, beside what was pressed. */
export function Trouble({ children }: { children: ComponentChildren }): JSX.Element | null {
  return children ? <p class="trouble" role="alert">{children}</p> : null;
}

export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

/** What of a call's arguments another call needs too. */
export const sameVault = (input: Record<string, unknown>): Record<string, unknown> => (typeof input.vault === 'string' ? { vault: input.vault } : {});

/** A note's name, which shows its text when pressed, and a way into Obsidian. */
export function Note({ host, path, vault, input, children }: { host: Host; path: string; vault: string; input: Record<string, unknown>; children?: ComponentChildren }): JSX.Element {
  const [text, setText] = useState('');
  const [isOpen, setOpen] = useState(false);
  const [trouble, setTrouble] = useState('');
  const fail = (error: Error): void => setTrouble(error.message);
  const read = async (): Promise<void> => {
    setOpen(!isOpen);
    if (isOpen || text) return;
    // The name may be that of several notes; the path is one.
    const answer = await host.call('obsidian_read_note', { path, max_chars: 8000, ...sameVault(input) });
    setText(textOf(answer));
  };
  const address = `obsidian://open?vault=${encodeURIComponent(vault)}&file=${encodeURIComponent(path)}`;
  const folder = folderOf(path);
  return (
    <>
      <div class="note-head">
        {host.can('serverTools') ? <button type="button" class="link" aria-expanded={isOpen} onClick={() => void read().catch(fail)}>{nameOf(path)}</button> : <strong>{nameOf(path)}</strong>}
        {folder && <span class="quiet">{folder}</span>}
        {children}
        {host.can('openLinks') && <button type="button" class="small" onClick={() => void host.open(address).catch(fail)} aria-label={`Open ${nameOf(path)} in Obsidian`}>Open</button>}
      </div>
      <Trouble>{trouble}</Trouble>
      {isOpen && (text ? <Words text={text} /> : !trouble && <p class="quiet" role="status">Reading…</p>)}
    </>
  );
}
