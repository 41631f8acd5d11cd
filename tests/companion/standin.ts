// Compares the stand-in for Obsidian (app.cjs) with the app's published typings. Compiled by a test, never run.
//
// Of each class: every member that it offers is in the typings, and fits what they say; its constructor takes what theirs takes.
// `Own` names what belongs to the tests alone, and may name nothing that the typings have: that would hide it from the comparison.

import type * as real from 'obsidian';

type Api = (typeof import('./app.cjs'))['api'];
type Real = typeof real;

interface Own {
  App: 'commands' | 'extensions' | 'extensionsChanged' | 'files' | 'makeEditor' | 'modals' | 'notices' | 'settingTabs' | 'statusBar' | 'stored' | 'tabs' | 'updated' | 'views';
  ButtonComponent: 'act' | 'text' | 'use' | 'value';
  Component: never;
  DropdownComponent: 'act' | 'options' | 'use' | 'value';
  Editor: 'focused' | 'seen' | 'text' | 'view' | 'write';
  FileSystemAdapter: 'folder';
  FileView: never;
  ItemView: never;
  MarkdownView: 'host' | 'mode' | 'typed';
  Menu: 'items';
  MenuItem: 'act' | 'title';
  Modal: 'title';
  Notice: 'shown';
  Plugin: never;
  PluginSettingTab: 'plugin';
  Setting: 'control' | 'name' | 'text';
  SettingTab: never;
  TFile: never;
  TextComponent: 'act' | 'use' | 'value';
  TextFileView: never;
  ToggleComponent: 'act' | 'use' | 'value';
  Vault: 'count' | 'folder' | 'write';
  View: never;
  Workspace: 'app' | 'count' | 'leaves' | 'newLeaf' | 'ready' | 'removed' | 'waiting';
  WorkspaceLeaf: 'app' | 'deferred' | 'pinned' | 'root';
}

type Name = keyof Own;
type Ours<N extends Name> = InstanceType<Api[N]>;
type Theirs<N extends Name> = Real[N]['prototype'];
type Offered<N extends Name> = Exclude<keyof Ours<N>, Own[N]>;

/** What is offered and not in the typings. */
type Invented = { [N in Name]: Exclude<Offered<N>, keyof Theirs<N>> };
/** What is offered and does not fit the typings. A method that returns its own object fits one that does. */
type Fits<A, B, Self, Other> = A extends B ? true
  : A extends (...args: infer P) => Self ? (B extends (...args: infer Q) => Other ? (Q extends P ? true : false) : false) : false;
type Misfits = {
  [N in Name]: { [K in Offered<N> & keyof Theirs<N>]: Fits<Ours<N>[K], Theirs<N>[K], Ours<N>, Theirs<N>> extends true ? never : K }[Offered<N> & keyof Theirs<N>];
};
/** What the tests call their own and the typings have. */
type Hidden = { [N in Name]: Own[N] & keyof Theirs<N> };
/** What is offered as a module and not compared. */
type Uncompared = Exclude<keyof Api, Name | 'Platform'>;
/** Whose constructor a plugin calls. */
type Made = 'ItemView' | 'Modal' | 'Notice' | 'Plugin' | 'PluginSettingTab' | 'Setting';
type Unmade = { [N in Made]: Api[N] extends new (...args: ConstructorParameters<Real[N]>) => unknown ? never : N };

/** The editor over a real CodeMirror. */
type Cm = InstanceType<(typeof import('./codemirror.mjs', { with: { 'resolution-mode': 'import' } }))['CodeMirrorEditor']>;
type CmMisfits = { [K in Exclude<keyof Cm, 'cm' | 'focused' | 'text'>]: K extends keyof real.Editor ? (Cm[K] extends real.Editor[K] ? never : K) : K };

type Nothing<T extends { [N in keyof T]: never }> = T;
type None<T extends never> = T;

export type Checked = [Nothing<Invented>, Nothing<Misfits>, Nothing<Hidden>, Nothing<Unmade>, Nothing<CmMisfits>, None<Uncompared>,
  None<Api['Platform'] extends Pick<Real['Platform'], 'isDesktop' | 'isMobile'> ? never : 'Platform'>];
