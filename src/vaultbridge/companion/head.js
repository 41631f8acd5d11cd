/*
 * The companion: connects the running Obsidian to `vaultbridge serve` over the editor protocol
 * (docs/editor-protocol.md of vaultbridge).
 *
 * It reports which notes are open, which one is active and what is selected, opens and saves notes on request, and
 * lets a person decide on proposed changes and see what assistants do. It writes no note and merges nothing: the
 * bridge determines what a change does to a note, and the bridge, or Claude Code itself, writes it once it is
 * accepted. It stores nothing in the vault, which is synced and which assistants read: the settings, and a token
 * typed by hand, are in the app's local storage on this device, and on the desktop the token is read from the
 * bridge's own files for each connection.
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
 *   decided: {at: number, by: string, reason: string, change: number, undone: boolean} | null}} ProposalData
 * @typedef {{path: string, text?: string, hunks?: number[], skip?: boolean}} FileDecision  what to write of a file instead of the whole proposal
 * @typedef {{id: string, name: string, client: string, via: string, vaults: string[], connected: boolean,
 *   paused: boolean, since: number, summary: string}} Assistant
 * @typedef {{id: string, at: number, assistant: {name: string}, kind: string, text: string, ok: boolean,
 *   error: string, vault: string, change: number | null, canUndo: boolean}} Entry
 * @typedef {{url: string, token: string, vault: string}} Endpoint  where a bridge may listen, and for which vault
 * @typedef {{line: number, character: number}} Position
 * @typedef {{start: Position, end: Position, text?: string}} Range
 * @typedef {[string, boolean]} LinePart  a part of a line, and whether it has changed
 * @typedef {{resolve: (value: any) => void, reject: (error: Error) => void}} PendingRequest
 * @typedef {{onState: (state: ConnectionState, reason: string) => void, onHello: (hello: any) => void,
 *   onNotification: (method: string, params: any) => void, onRequest: (method: string, params: any) => Promise<boolean>}} Handlers
 * @typedef {'off' | 'connecting' | 'connected' | 'waiting' | 'refused'} ConnectionState
 * @typedef {{automatic: boolean, address: string, token: string, vault: string, openReview: boolean}} Settings
 * @typedef {'waiting' | 'decided' | 'activity'} PanelName
 */

const VIEW_TYPE = 'vaultbridge-review';
const SETTINGS_KEY = 'vaultbridge-companion';
const SUBPROTOCOL = 'vaultbridge.editor.v1';
const ABILITIES = { proposals: true, open: true, save: true, activity: true };

/** Seconds before each attempt to reconnect; the last one repeats. A restarted bridge is back within the first. */
const RETRY_SECONDS = [0.5, 1, 2, 4, 8, 15];
/** A bridge answers at once; one that stays silent for this long is gone. */
const ANSWER_MS = 10_000;
/** The least time between reports: dragging a selection is one report, and the bridge debounces too. */
const REPORT_MS = 100;
/** The bridge stores no more of a selection. */
const MAX_SELECTION_CHARS = 262_144;
/** The bridge stores no more open files. */
const MAX_OPEN_FILES = 500;
/** In one folder of bridges: a huge folder must not hang the app. */
const MAX_FILES_READ = 1000;
/** Of a bridge's file, which has some hundred bytes. */
const MAX_FILE_BYTES = 65_536;
/** Of a proposal at once; the rest is shown on request, so that a huge change does not freeze the app. */
const MAX_LINES = 1000;
/** The most decided proposals that are listed. */
const MAX_DECIDED = 100;
/** Entries of the activity that are requested at once. */
const PAGE_SIZE = 50;
/** The most entries that are held while the app runs. */
const MAX_ENTRIES = 500;
/** The most disconnected assistants that are still listed. */
const MAX_DISCONNECTED = 5;
/** The longest reason for a rejection. */
const MAX_REASON_CHARS = 500;
