/*
 * The companion: connects the running Obsidian to `vaultbridge serve` over the editor protocol
 * (docs/editor-protocol.md of vaultbridge).
 *
 * It reports which notes are open, where the person is and what is selected, opens and saves notes on request, and
 * lets a person decide on proposed changes. It writes no note: after an acceptance the assistant does, with the
 * accepted text. It stores nothing in the vault, which is synced and which assistants read: the settings, and a
 * token typed by hand, are in the app's local storage on this device, and on the desktop the token is read from the
 * bridge's own files for each connection.
 *
 * The mobile app can load only one file: this one is assembled from parts when it is installed.
 */
'use strict';

const obsidian = require('obsidian');
const { EditorView } = require('@codemirror/view');

/**
 * @typedef {{at: number, gone: number, lines: string[]}} Hunk  `gone` lines from line `at` on become `lines`
 * @typedef {{id: string, client: string, tabName: string, path: string, oldText: string, newText: string}} Diff
 * @typedef {{url: string, token: string, vault: string}} Endpoint  where a bridge may listen, and for which vault
 * @typedef {{line: number, character: number}} Position
 * @typedef {{start: Position, end: Position, text?: string}} Range
 * @typedef {[string, boolean]} Piece  a stretch of a line, and whether it has changed
 * @typedef {{done: (value: any) => void, fail: (error: Error) => void}} Asked
 * @typedef {{state: (word: ConnectionState, why: string) => void, greeted: (hello: any) => void,
 *   notified: (method: string, params: any) => void, requested: (method: string, params: any) => Promise<boolean>}} Listener
 * @typedef {'off' | 'connecting' | 'connected' | 'waiting' | 'refused'} ConnectionState
 * @typedef {{automatic: boolean, address: string, token: string, vault: string, openReview: boolean}} Settings
 */

const VIEW_TYPE = 'vaultbridge-review';
const STORED_AS = 'vaultbridge-companion';
const SUBPROTOCOL = 'vaultbridge.editor.v1';
const ABILITIES = { diffs: true, open: true, save: true, assistants: true };

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
/** Unchanged lines shown around a change. */
const AROUND = 3;
/** Lines of one change drawn at once; the rest on request, so that a huge change does not freeze the app. */
const LINES_DRAWN = 1000;
