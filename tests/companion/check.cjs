// Lets TypeScript check scripts, and variants of them, in one process: what is read once serves for all.
//
//     node check.cjs FOLDER < [{roots: [name], changed: {name: text}}, …]
//
// FOLDER has the scripts, and `node_modules` with TypeScript. Prints for each what TypeScript complains of, as a list of texts.
'use strict';

const fs = require('fs');
const path = require('path');

const folder = fs.realpathSync(process.argv[2]);
const ts = require(path.join(folder, 'node_modules', 'typescript'));

const options = {
  allowJs: true, checkJs: true, noEmit: true, strict: true, skipLibCheck: true, types: ['node'],
  typeRoots: [path.join(folder, 'node_modules', '@types')], target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  module: ts.ModuleKind.Node16, moduleResolution: ts.ModuleResolutionKind.Node16,
};
const host = ts.createCompilerHost(options);
const { getSourceFile, readFile } = host;
const parsed = new Map();
let changed = {};

host.getCurrentDirectory = () => folder;
host.readFile = (name) => changed[path.basename(name)] ?? readFile.call(host, name);
host.getSourceFile = (name, ...rest) => {
  if (path.basename(name) in changed) return getSourceFile.call(host, name, ...rest);
  if (!parsed.has(name)) parsed.set(name, getSourceFile.call(host, name, ...rest));
  return parsed.get(name);
};

let before;
const found = JSON.parse(fs.readFileSync(0, 'utf8')).map((variant) => {
  changed = variant.changed;
  const program = ts.createProgram(variant.roots.map((name) => path.join(folder, name)), options, host, before);
  before = program;
  return ts.getPreEmitDiagnostics(program).map((diagnostic) => ts.flattenDiagnosticMessageText(diagnostic.messageText, ' '));
});
process.stdout.write(JSON.stringify(found));
