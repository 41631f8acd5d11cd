/*
 * The companion: joins the running Obsidian to `vaultbridge serve` over the editor protocol
 * (docs/editor-protocol.md of vaultbridge).
 *
 * It tells which notes are open, where the person is and what is selected, opens and saves notes when asked, and
 * lets a person decide on proposed changes. It writes no note: after an acceptance the assistant does, with
 * the text that it is given. It stores nothing in the vault, which is synced and which assistants read:
 * settings and a token typed by hand lie in the app's local storage of this device, and on the desktop the token
 * is read from the bridge's own files whenever a connection begins.
 *
 * The mobile app can load one file only: this one is put together from parts when it is installed.
 */
'use strict';

const obsidian = require('obsidian');
const { EditorView } = require('@codemirror/view');

/**
 * @typedef {{at: number, gone: number, lines: string[]}} Hunk  `gone` lines from line `at` on become `lines`
 * @typedef {{id: string, client: string, tabName: string, path: string, oldText: string, newText: string}} Diff
 * @typedef {{url: string, token: string, vault: string}} Place  where a bridge may listen, and for which vault
 * @typedef {{line: number, character: number}} Position
 * @typedef {{start: Position, end: Position, text?: string}} Range
 * @typedef {[string, boolean]} Piece  a stretch of a line, and whether it has changed
 * @typedef {{done: (value: any) => void, fail: (error: Error) => void}} Asked
 * @typedef {{state: (word: LineState, why: string) => void, greeted: (hello: any) => void,
 *   told: (method: string, params: any) => void, asked: (method: string, params: any) => Promise<boolean>}} Listener
 * @typedef {'off' | 'connecting' | 'connected' | 'waiting' | 'refused'} LineState
 * @typedef {{automatic: boolean, address: string, token: string, vault: string, openReview: boolean}} Settings
 */

const VIEW_TYPE = 'vaultbridge-review';
const STORED_AS = 'vaultbridge-companion';
const SUBPROTOCOL = 'vaultbridge.editor.v1';
const ABILITIES = { diffs: true, open: true, save: true, assistants: true };

/** Seconds before the next try; the last one repeats. A bridge that was restarted is back within the first. */
const WAITS = [0.5, 1, 2, 4, 8, 15];
/** A bridge answers at once; one that is silent for so long is gone. */
const ASK_MS = 10_000;
/** Reports go out at most this often: a dragged selection is one report, and the bridge waits for calm itself. */
const REPORT_MS = 100;
/** The bridge keeps no more of a selection. */
const SELECTION_CHARS = 262_144;
/** The bridge keeps no more open files. */
const OPEN_FILES = 500;
/** Files looked at in one folder of bridges: a runaway folder must not hang the app. */
const FILES_LOOKED_AT = 1000;
/** A bridge's file has some hundred bytes. */
const PRIVATE_FILE_BYTES = 65_536;
/** Unchanged lines shown around a change. */
const AROUND = 3;
/** Lines of one change drawn at once; the rest on request, so that a huge change does not stop the app. */
const LINES_DRAWN = 1000;
