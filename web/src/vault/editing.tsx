// The source editor. It saves through the server with the hash of the text that the person began with, so that nothing
// written meanwhile is lost: then both texts are shown, and the person decides.

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api, ApiError, vaultName } from '../lib/api';
import { complain, Failure, Icon, Loading, MOD, notify } from '../lib/ui';
import { useValue } from '../lib/value';
import { dropDraft, drafts, findDraft, keepDraft } from './drafts';
import { files } from './files';
import { type NoteData, type Saved, titleOf } from './types';

interface Props {
  note: NoteData;
  onSaved: (saved: Saved, text: string) => void;
  onLeave: () => void;
}

const lf = (text: string): string => text.replace(/\r\n?/g, '\n');

/** Saves a text; the new hash. */
export const save = (path: string, text: string, expected: string): Promise<Saved> => api<Saved>('note', { method: 'PUT', body: { path, text, expected } });

export function Editing({ note, onSaved, onLeave }: Props): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const vault = vaultName();
  const began = useRef(findDraft(vault, note.path) ?? { path: note.path, vault, text: lf(note.text), original: lf(note.text), hash: note.hash });
  const [conflict, setConflict] = useState<NoteData | null>(null);
  const [saving, setSaving] = useState(false);
  const [error, fail] = useState<Error | null>(null);
  const dirty = useValue(drafts).has(`${vault}/${note.path}`);

  const write = async () => {
    const draft = findDraft(vault, note.path);
    if (!draft || saving) return;
    setSaving(true);
    try {
      const saved = await save(note.path, draft.text, draft.hash);
      began.current = { ...draft, original: draft.text, hash: saved.hash };
      // What was typed while the server wrote is not saved yet.
      keepDraft({ ...began.current, text: findDraft(vault, note.path)?.text ?? draft.text });
      onSaved(saved, draft.text);
    } catch (reason) {
      if (reason instanceof ApiError && reason.status === 409) await api<NoteData>('note', { query: { path: note.path } }).then(setConflict, complain);
      else complain(reason);
    } finally {
      setSaving(false);
    }
  };
  const latest = useRef(write);
  latest.current = write;

  useEffect(() => {
    let ended = false;
    let view: ReturnType<typeof import('../lib/editor').mountEditor> | null = null;
    import('../lib/editor').then(({ mountEditor }) => {
      if (ended || !place.current) return;
      view = mountEditor(place.current, {
        text: began.current.text,
        label: `The text of ${note.path}`,
        onChange: (text) => keepDraft({ ...began.current, text }),
        onSave: () => void latest.current(),
        onLeave: () => {
          if (!findDraft(vault, note.path)) return onLeave(), true;
          notify(`Not saved yet: save with ${MOD}+S, or press Tab to get to Save and Discard.`, 'bad');
          return false;
        },
        paths: () => (files.get()?.paths ?? []).filter((path) => path.endsWith('.md')).map((path) => ({ path, title: titleOf(path) })),
      });
      shown.current = view;
      view.focus();
    }, () => fail(new Error('The editor could not be loaded. Is the server still running?')));
    return () => {
      ended = true;
      shown.current = null;
      view?.destroy();
    };
  }, [note.path, conflict]);
  // While nothing was typed, the editor shows the note as it is.
  const shown = useRef<ReturnType<typeof import('../lib/editor').mountEditor> | null>(null);
  useEffect(() => {
    if (saving || findDraft(vault, note.path) || note.hash === began.current.hash) return;
    began.current = { ...began.current, text: lf(note.text), original: lf(note.text), hash: note.hash };
    shown.current?.dispatch({ changes: { from: 0, to: shown.current.state.doc.length, insert: began.current.text } });
  }, [note.hash, saving]);
  const isBehind = dirty && !saving && note.hash !== (findDraft(vault, note.path)?.hash ?? note.hash);

  if (error) return <Failure error={error} retry={() => location.reload()} waits />;
  if (conflict) return <Conflict note={conflict} mine={findDraft(vault, note.path)?.text ?? began.current.text} onType={(text) => keepDraft({ ...began.current, text })} onDone={(saved, text) => (dropDraft(vault, note.path), onSaved(saved, text), onLeave())} onKeepEditing={(text) => {
    began.current = { ...began.current, text, original: lf(conflict.text), hash: conflict.hash };
    keepDraft(began.current);
    setConflict(null);
  }} onDiscard={() => (dropDraft(vault, note.path), onLeave())} />;
  return (
    <div class="editing">
      <div class="editing-bar">
        <span class="quiet" role="status">{saving ? 'Saving…' : isBehind ? 'Changed, not saved. The note has changed too: Save shows both texts.' : dirty ? 'Changed, not saved' : 'Saved'}</span>
        <button type="button" class="accept" disabled={!dirty || saving} onClick={() => void write()}>Save <kbd aria-hidden="true">{MOD} S</kbd></button>
        {dirty ? <button type="button" onClick={() => (dropDraft(vault, note.path), onLeave())}>Discard</button> : <button type="button" onClick={onLeave}>Done</button>}
      </div>
      <div class="editor" ref={place}><Loading>Loading the editor…</Loading></div>
    </div>
  );
}

function Conflict({ note, mine, onType, onDone, onKeepEditing, onDiscard }: { note: NoteData; mine: string; onType: (text: string) => void; onDone: (saved: Saved, text: string) => void; onKeepEditing: (text: string) => void; onDiscard: () => void }): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const merge = useRef<{ b: { state: { doc: { toString(): string } } }; destroy: () => void } | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    let ended = false;
    void import('../lib/editor').then(({ mountConflict }) => {
      if (!ended && place.current) merge.current = mountConflict(place.current, lf(note.text), mine, ['The note as it is now', 'Your text'], onType);
    });
    return () => {
      ended = true;
      merge.current?.destroy();
    };
  }, [note.hash]);
  const text = () => merge.current?.b.state.doc.toString() ?? mine;
  const write = async () => {
    setBusy(true);
    try {
      onDone(await save(note.path, text(), note.hash), text());
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) onKeepEditing(text());
      complain(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div class="editing conflict">
      <div class="conflict-head" role="alert">
        <p><Icon name="warning" /> <strong>{titleOf(note.path)} has changed since you began to edit.</strong> Nothing is lost. On the left is the note as it is now, on the right your text. Use the arrows to take over what you want to keep, then save.</p>
        <div class="conflict-tools">
          <button type="button" class="accept" disabled={busy} onClick={() => void write()}>Save the right side</button>
          <button type="button" onClick={() => onKeepEditing(text())}>Continue editing</button>
          <button type="button" class="reject" onClick={onDiscard}>Discard my text</button>
        </div>
      </div>
      <div class="editor" ref={place} />
    </div>
  );
}
