// What all views in a chat share: how they start, and components for texts, errors and notes.

import { type ComponentChildren, type JSX, render } from 'preact';
import { useState } from 'preact/hooks';
import { folderOf, titleOf } from '../lib/paths';
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
  /** Shown instead of the view: the call was cancelled, or the host cannot be reached. */
  message: string;
}

/** Renders a view when the host sends a result, and a text until then. */
export function startView(name: string, loadingText: string, View: (props: ViewProps) => JSX.Element): void {
  const root = document.getElementById('view');
  if (!root) return;
  let state: State = { input: {}, result: null, message: '' };
  let resultNumber = 0;
  const update = (change: Partial<State>): void => {
    state = { ...state, ...change };
    if ('result' in change) resultNumber++;
    const { input, result, message } = state;
    render(message ? <p class="quiet" role="status">{message}</p> : !result ? <p class="quiet" role="status">{loadingText}</p> : result.isError ? <Text text={textOf(result)} isError /> : <View key={resultNumber} host={host} input={input} result={result} />, root);
  };
  const host = new Host({
    input: (input) => update({ input }),
    result: (result) => update({ result, message: '' }),
    cancelled: (reason) => update({ message: `The call was cancelled${reason ? `: ${reason}` : ''}.` }),
  });
  update({});
  if (window.parent === window) update({ message: 'An assistant’s program shows this page next to an answer from vaultbridge.' });
  else host.start(name).catch((error: Error) => update({ message: error.message }));
}

export function Text({ text, isError = false }: { text: string; isError?: boolean }): JSX.Element {
  return <pre class={isError ? 'text bad' : 'text'} role={isError ? 'alert' : undefined} tabIndex={0}>{text}</pre>;
}

export function ErrorText({ children }: { children: ComponentChildren }): JSX.Element | null {
  return children ? <p class="error-text" role="alert">{children}</p> : null;
}

/** The `vault` of a call's arguments, for another call. */
export const vaultOf = (input: Record<string, unknown>): Record<string, unknown> => (typeof input.vault === 'string' ? { vault: input.vault } : {});

/** A note's name, which shows its text when pressed, and a button that opens it in Obsidian. */
export function NoteHeader({ host, path, vault, input, children }: { host: Host; path: string; vault: string; input: Record<string, unknown>; children?: ComponentChildren }): JSX.Element {
  const [text, setText] = useState('');
  const [isOpen, setOpen] = useState(false);
  const [error, setError] = useState('');
  const handleError = (reason: Error): void => setError(reason.message);
  const toggle = async (): Promise<void> => {
    setOpen(!isOpen);
    if (isOpen || text) return;
    // By its path, because several notes may have the same name.
    const answer = await host.callTool('obsidian_read_note', { path, max_chars: 8000, ...vaultOf(input) });
    setText(textOf(answer));
  };
  const address = `obsidian://open?vault=${encodeURIComponent(vault)}&file=${encodeURIComponent(path)}`;
  const folder = folderOf(path);
  return (
    <>
      <div class="note-head">
        {host.can('serverTools') ? <button type="button" class="link" aria-expanded={isOpen} onClick={() => void toggle().catch(handleError)}>{titleOf(path)}</button> : <strong>{titleOf(path)}</strong>}
        {folder && <span class="quiet">{folder}</span>}
        {children}
        {host.can('openLinks') && <button type="button" class="small" onClick={() => void host.openLink(address).catch(handleError)} aria-label={`Open ${titleOf(path)} in Obsidian`}>Open</button>}
      </div>
      <ErrorText>{error}</ErrorText>
      {isOpen && (text ? <Text text={text} /> : !error && <p class="quiet" role="status">Reading…</p>)}
    </>
  );
}
