// Bundles the page into src/vaultbridge/web/static, and the views for chats into src/vaultbridge/protocols/mcp/vault/views.
// The result is committed, so that using vaultbridge needs no npm.
//
//   node build.mjs                 writes the bundle
//   node build.mjs PAGE VIEWS      writes it into these folders instead, to compare it with the committed one
//
// The same sources and lock file give the same bytes. `bundle.json` records what went in and what came out; a Python
// test compares both with the files, so a forgotten `make web` and an edit of the output are found without npm.

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const output = resolve(process.argv[2] ?? join(here, '../src/vaultbridge/web/static'));
const chatOutput = resolve(process.argv[3] ?? join(here, '../src/vaultbridge/protocols/mcp/vault/views'));

/** Files that are served as they are. */
const COPIED = ['icon.svg', 'icon-192.png', 'icon-512.png', 'manifest.webmanifest'];

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** Everything that decides what the bundle is, by its path within `web/`. */
function sources() {
  const files = ['package.json', 'package-lock.json', 'tsconfig.json', 'build.mjs'];
  for (const entry of readdirSync(join(here, 'src'), { recursive: true, withFileTypes: true }))
    if (entry.isFile()) files.push(relative(here, join(entry.parentPath, entry.name)).split(sep).join('/'));
  return files.sort();
}

/** Views that an assistant's program shows within a chat: each one file that needs nothing else. */
const VIEWS = { results: 'Search results', graph: 'Around a note', review: 'Proposed change' };

const common = {
  absWorkingDir: here,
  bundle: true,
  preserveSymlinks: true, // so that packages kept elsewhere give the same names of parts
  format: 'esm',
  target: ['chrome120', 'firefox121', 'safari17'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  minify: true,
  charset: 'utf8',
  legalComments: 'none', // The licences are in THIRD_PARTY.txt, whole.
  metafile: true,
  write: false,
  logLevel: 'warning',
};

const result = await build({
  ...common,
  entryPoints: { app: 'src/main.tsx', 'graph-layout': 'src/graph/layout.worker.ts', style: 'src/styles/main.css' },
  outdir: output,
  splitting: true,
  entryNames: '[name]',
  chunkNames: '[name]-[hash]',
});

const scripts = Object.fromEntries(Object.keys(VIEWS).map((name) => [name, `src/chat/${name}.tsx`]));
const chat = await build({ ...common, entryPoints: { ...scripts, chat: 'src/chat/chat.css' }, outdir: chatOutput });
const parts = new Map(chat.outputFiles.map((file) => [relative(chatOutput, file.path), file.text]));
const views = new Map(Object.entries(VIEWS).map(([name, title]) => [`${name}.html`, Buffer.from(page(title, parts.get('chat.css'), parts.get(`${name}.js`)))]));

/** A view as one file. Its policy lets nothing run or load but what stands in it. */
function page(title, css, js) {
  const style = css.trim();
  const script = js.trim().replace(/<\/(?=script)/gi, '<\\/').replace(/<!--/g, '<\\!--');
  const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  const policy = [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
  const fill = { POLICY: policy, TITLE: title, STYLE: style, SCRIPT: script };
  return readFileSync(join(here, 'src/chat/view.html'), 'utf8').replace(/\b(POLICY|TITLE|STYLE|SCRIPT)\b/g, (name) => fill[name]);
}

const files = new Map(result.outputFiles.map((file) => [relative(output, file.path), Buffer.from(file.contents)]));
for (const name of COPIED) files.set(name, readFileSync(join(here, 'src', name)));
// So that a browser asks for all of them at once, instead of for each when it has read the one that names it.
const early = neededFirst().map((name) => `<link rel="modulepreload" href="/page/${name}">\n`).join('');
files.set('index.html', Buffer.from(readFileSync(join(here, 'src/index.html'), 'utf8').replace('</head>', `${early}</head>`)));
files.set('THIRD_PARTY.txt', Buffer.from(licences(Object.keys({ ...result.metafile.inputs, ...chat.metafile.inputs }))));

/** The parts of the page and of its first view, and what these import. */
function neededFirst() {
  const { outputs } = result.metafile;
  const found = new Set();
  const add = (path) => {
    if (found.has(path)) return;
    found.add(path);
    for (const one of outputs[path].imports) if (one.kind === 'import-statement') add(one.path);
  };
  for (const [path, { entryPoint }] of Object.entries(outputs)) if (['src/main.tsx', 'src/views/vault.tsx'].includes(entryPoint)) add(path);
  return [...found].map((path) => relative(output, resolve(here, path))).filter((name) => name !== 'app.js').sort();
}

/** Writes a folder anew, and gives the hash of each file. */
function write(folder, contents) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const names = [...contents.keys()].sort();
  for (const name of names) writeFileSync(join(folder, name), contents.get(name));
  return Object.fromEntries(names.map((name) => [name, sha256(contents.get(name))]));
}

const record = {
  sources: sha256(sources().map((name) => `${sha256(readFileSync(join(here, name)))}  ${name}\n`).join('')),
  files: write(output, files),
  views: write(chatOutput, views),
};
writeFileSync(join(output, 'bundle.json'), `${JSON.stringify(record, null, 2)}\n`);

/** The licence of every package of which the bundle holds a part. */
function licences(inputs) {
  const packages = new Set();
  for (const input of inputs) {
    const found = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) packages.add(found[0]);
  }
  const parts = [...packages].sort().map((folder) => {
    const about = JSON.parse(readFileSync(join(here, folder, 'package.json'), 'utf8'));
    const file = readdirSync(join(here, folder)).find((name) => /^licen[cs]e([.-]|$)/i.test(name));
    if (!file) throw new Error(`${about.name} has no licence file`);
    const text = readFileSync(join(here, folder, file), 'utf8').replace(/\r\n?/g, '\n').trim();
    return `${about.name} ${about.version} (${about.license})\n\n${text}\n`;
  });
  const head = 'The page is made with these packages. Each is used under its own licence, which follows its name.\n';
  return [head, ...parts].join(`\n${'='.repeat(80)}\n\n`);
}
