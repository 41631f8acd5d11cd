// The source editor. It sends the hash of the text on which the person's edit is based, so that nothing written in the
// meantime is overwritten: instead, both texts are editor, and the person decides.

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api, ApiError, getVaultName } from '../lib/api';
import { Icon } from '../lib/icons';
import { MOD } from '../lib/keys';
import { notify, notifyError } from '../lib/notices';
import { titleOf } from '../lib/paths';
import { Failure, Loading } from '../lib/states';
import { discardDraft, findDraft, saveDraft, useDraft } from './drafts';
import { files } from './files';
import type { Attached, NoteData, Saved } from './model';
import { makeUndoAction } from './undo';

interface SourceEditorProps {
  note: NoteData;
  onSaved: (saved: Saved, text: string) => void;
  onLeave: () => void;
}

const toLf = (text: string): string => text.replace(/\r\n?/g, '\n');

/** Saves a text over the version with the hash `expected`. */
const saveText = (path: string, text: string, expected: string): Promise<Saved> => api<Saved>('note', { method: 'PUT', body: { path, text, expected } });

/** The name that the app gives to what is pasted; a browser calls every pasted picture `image.png`. */
const namePasted = (file: File): string => `Pasted image ${formatDigits(new Date())}.${file.name.split('.').pop() || 'png'}`;

function formatDigits(date: Date): string {
  const parts = [date.getMonth() + 1, date.getDate(), date.getHours(), date.getMinutes(), date.getSeconds()];
  return date.getFullYear() + parts.map((part) => String(part).padStart(2, '0')).join('');
}

/** Adds a file to the vault for a note. Returns what shows it there, or '' after an error, which the person sees. */
async function attachFile(path: string, file: File, isPasted: boolean): Promise<string> {
  try {
    const data = await readBase64(file);
    const added = await api<Attached>('attachment', { body: { path, data, name: isPasted && file.type.startsWith('image/') ? namePasted(file) : file.name } });
    notify(`Added ${added.path}.`, 'good', makeUndoAction(added.change, () => undefined));
    return added.embed;
  } catch (error) {
    notifyError(error);
    return '';
  }
}

function readBase64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''));
    reader.onerror = () => reject(reader.error ?? new Error('The file could not be read.'));
    reader.readAsDataURL(file);
  });
}

export function SourceEditor({ note, onSaved, onLeave }: SourceEditorProps): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const vault = getVaultName();
  const base = useRef(findDraft(vault, note.path) ?? { path: note.path, vault, text: toLf(note.text), original: toLf(note.text), hash: note.hash });
  const [conflict, setConflict] = useState<NoteData | null>(null);
  const [isSaving, setSaving] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const isDirty = useDraft(vault, note.path) !== undefined;

  const save = async () => {
    const draft = findDraft(vault, note.path);
    if (!draft || isSaving) return;
    setSaving(true);
    try {
      const saved = await saveText(note.path, draft.text, draft.hash);
      base.current = { ...draft, original: draft.text, hash: saved.hash };
      // What was typed while the server was writing is not saved yet.
      saveDraft({ ...base.current, text: findDraft(vault, note.path)?.text ?? draft.text });
      onSaved(saved, draft.text);
    } catch (reason) {
      if (reason instanceof ApiError && reason.status === 409) await api<NoteData>('note', { query: { path: note.path } }).then(setConflict, notifyError);
      else notifyError(reason);
    } finally {
      setSaving(false);
    }
  };
  const latestSave = useRef(save);
  latestSave.current = save;

  useEffect(() => {
    let isUnmounted = false;
    let view: ReturnType<typeof import('../lib/editor').mountEditor> | null = null;
    import('../lib/editor').then(({ mountEditor }) => {
      if (isUnmounted || !host.current) return;
      view = mountEditor(host.current, {
        text: base.current.text,
        label: `The text of ${note.path}`,
        onChange: (text) => saveDraft({ ...base.current, text }),
        onSave: () => void latestSave.current(),
        onLeave: () => {
          if (!findDraft(vault, note.path)) return onLeave(), true;
          notify(`Not saved yet: press ${MOD}+S to save, or Tab to go to Save and Discard.`, 'bad');
          return false;
        },
        attach: (file, isPasted) => attachFile(note.path, file, isPasted),
        paths: () => (files.get()?.paths ?? []).filter((path) => path.endsWith('.md')).map((path) => ({ path, title: titleOf(path) })),
      });
      editor.current = view;
      view.focus();
    }, () => setError(new Error('The editor could not be loaded. Is the server still running?')));
    return () => {
      isUnmounted = true;
      editor.current = null;
      view?.destroy();
    };
  }, [note.path, conflict]);
  // As long as nothing was typed, the editor follows the note.
  const editor = useRef<ReturnType<typeof import('../lib/editor').mountEditor> | null>(null);
  useEffect(() => {
    if (isSaving || findDraft(vault, note.path) || note.hash === base.current.hash) return;
    base.current = { ...base.current, text: toLf(note.text), original: toLf(note.text), hash: note.hash };
    editor.current?.dispatch({ changes: { from: 0, to: editor.current.state.doc.length, insert: base.current.text } });
  }, [note.hash, isSaving]);
  const isBehind = isDirty && !isSaving && note.hash !== (findDraft(vault, note.path)?.hash ?? note.hash);

  if (error) return <Failure error={error} retry={() => location.reload()} manual />;
  if (conflict) return <Conflict note={conflict} mine={findDraft(vault, note.path)?.text ?? base.current.text} onEdit={(text) => saveDraft({ ...base.current, text })} onSaved={(saved, text) => (discardDraft(vault, note.path), onSaved(saved, text), onLeave())} onKeepEditing={(text) => {
    base.current = { ...base.current, text, original: toLf(conflict.text), hash: conflict.hash };
    saveDraft(base.current);
    setConflict(null);
  }} onDiscard={() => (discardDraft(vault, note.path), onLeave())} />;
  return (
    <div class="editing">
      <div class="editing-bar">
        <span class="quiet" role="status">{isSaving ? 'Saving…' : isBehind ? 'Not saved. The note has changed too: Save shows both texts.' : isDirty ? 'Not saved' : 'Saved'}</span>
        <button type="button" class="accept" disabled={!isDirty || isSaving} onClick={() => void save()}>Save <kbd aria-hidden="true">{MOD} S</kbd></button>
        {isDirty ? <button type="button" onClick={() => (discardDraft(vault, note.path), onLeave())}>Discard</button> : <button type="button" onClick={onLeave}>Done</button>}
      </div>
      <div class="editor" ref={host}><Loading>Loading the editor…</Loading></div>
    </div>
  );
}

function Conflict({ note, mine, onEdit, onSaved, onKeepEditing, onDiscard }: { note: NoteData; mine: string; onEdit: (text: string) => void; onSaved: (saved: Saved, text: string) => void; onKeepEditing: (text: string) => void; onDiscard: () => void }): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const merge = useRef<{ b: { state: { doc: { toString(): string } } }; destroy: () => void } | null>(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    let isUnmounted = false;
    void import('../lib/editor').then(({ mountConflict }) => {
      if (!isUnmounted && host.current) merge.current = mountConflict(host.current, toLf(note.text), mine, ['The note as it is now', 'Your text'], onEdit);
    });
    return () => {
      isUnmounted = true;
      merge.current?.destroy();
    };
  }, [note.hash]);
  const readText = () => merge.current?.b.state.doc.toString() ?? mine;
  const save = async () => {
    setBusy(true);
    try {
      onSaved(await saveText(note.path, readText(), note.hash), readText());
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) onKeepEditing(readText());
      notifyError(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div class="editing conflict">
      <div class="conflict-head" role="alert">
        <p><Icon name="warning" /> <strong>{titleOf(note.path)} has changed since you started editing.</strong> Nothing is lost. On the left is the note as it is now, on the right your text. Use the arrows to take over what you want to keep, then save.</p>
        <div class="conflict-tools">
          <button type="button" class="accept" disabled={isBusy} onClick={() => void save()}>Save the right side</button>
          <button type="button" onClick={() => onKeepEditing(readText())}>Continue editing</button>
          <button type="button" class="reject" onClick={onDiscard}>Discard my text</button>
        </div>
      </div>
      <div class="editor" ref={host} />
    </div>
  );
}
