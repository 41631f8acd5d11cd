/*
 * The companion: connects the running Obsidian to `vaultbridge serve` over the editor protocol
 * (docs/editor-protocol.md of vaultbridge).
 *
 * It reports which notes are open, where the person is and what is selected, opens and saves notes on request, and
 * lets a person decide on proposed changes and see what assistants do. It writes no note and merges nothing: the
 * bridge says what a change does to a note, and after an acceptance the bridge, or Claude Code itself, writes it. It
 * stores nothing in the vault, which is synced and which assistants read: the settings, and a token typed by hand,
 * are in the app's local storage on this device, and on the desktop the token is read from the bridge's own files
 * for each connection.
 *
 * The mobile app can load only one file: this one is assembled from parts when it is installed.
 */
'use strict';

const obsidian = require('obsidian');
const { Platform } = obsidian;
const { EditorView } = require('@codemirror/view');

/**
 * @typedef {{oldStart: number, oldLines: number, newStart: number, newLines: number, lines: string[]}} Hunk
 * @typedef {{path: string, was: string, change: 'created' | 'changed' | 'moved' | 'deleted', text: boolean,
 *   oldText: string | null, newText: string | null, hunks: Hunk[], size: number, conflict: string}} ProposedFile
 * @typedef {{id: string, kind: 'tool' | 'diff', status: string, assistant: string, token: string, tool: string,
 *   label: string, at: number, hash: string, files: ProposedFile[], moreFiles: number, notices: string[],
 *   rebased: number, conflict: string, elsewhere: {path: string, at: number, by: string}[],
 *   decided: {at: number, by: string, reason: string, change: number, undone: boolean} | null}} WireProposal
 * @typedef {{path: string, text?: string, hunks?: number[], skip?: boolean}} Choice  what to write of a file instead
 * @typedef {{id: string, name: string, client: string, via: string, vaults: string[], connected: boolean,
 *   paused: boolean, since: number, did: string}} Assistant
 * @typedef {{id: string, at: number, assistant: {name: string}, kind: string, words: string, ok: boolean,
 *   error: string, vault: string, change: number | null, canUndo: boolean}} Entry
 * @typedef {{url: string, token: string, vault: string}} Endpoint  where a bridge may listen, and for which vault
 * @typedef {{line: number, character: number}} Position
 * @typedef {{start: Position, end: Position, text?: string}} Range
 * @typedef {[string, boolean]} Piece  a stretch of a line, and whether it has changed
 * @typedef {{done: (value: any) => void, fail: (error: Error) => void}} Asked
 * @typedef {{state: (word: ConnectionState, why: string) => void, greeted: (hello: any) => void,
 *   notified: (method: string, params: any) => void, requested: (method: string, params: any) => Promise<boolean>}} Listener
 * @typedef {'off' | 'connecting' | 'connected' | 'waiting' | 'refused'} ConnectionState
 * @typedef {{automatic: boolean, address: string, token: string, vault: string, openReview: boolean}} Settings
 * @typedef {'waiting' | 'decided' | 'activity'} PanelName
 */

const VIEW_TYPE = 'vaultbridge-review';
const STORED_AS = 'vaultbridge-companion';
const SUBPROTOCOL = 'vaultbridge.editor.v1';
const ABILITIES = { proposals: true, open: true, save: true, activity: true };

/** Seconds before the next attempt; the last one repeats. A restarted bridge is back within the first. */
const WAITS = [0.5, 1, 2, 4, 8, 15];
/** A bridge answers at once; one that is silent for this long is gone. */
const ASK_MS = 10_000;
/** The least time between reports: dragging a selection is one report, and the bridge debounces too. */
const REPORT_MS = 100;
/** The bridge stores no more of a selection. */
const SELECTION_CHARS = 262_144;
/** The bridge stores no more open files. */
const OPEN_FILES = 500;
/** The most files read in one folder of bridges: a runaway folder must not hang the app. */
const FILES_LOOKED_AT = 1000;
/** The most read of a bridge's file, which has some hundred bytes. */
const PRIVATE_FILE_BYTES = 65_536;
/** Lines of one proposal drawn at once; the rest on request, so that a huge change does not freeze the app. */
const LINES_DRAWN = 1000;
/** Decided proposals listed. */
const DECIDED = 100;
/** Entries of the activity that are asked for at once. */
const ENTRIES = 50;
/** The most entries that are kept while the app runs. */
const ENTRIES_KEPT = 500;
/** Disconnected assistants that are still listed. */
const GONE = 5;
/** The longest reason of a rejection that the form takes. */
const REASON_CHARS = 500;
