// Prints what of Obsidian's published typings a script uses, as JSON: [{of, member, isClass, since, offered}].
//
//     node uses.cjs FOLDER MAIN.JS APP.CJS
//
// FOLDER holds `node_modules` with the typings and TypeScript. A call of a method with several signatures counts as the one that
// it means, so events are told apart. `since` is the app's version that brought it, '' when the typings do not say. `offered` is
// whether the stand-in APP.CJS has it too.
'use strict';

const path = require('path');

const [folder, main, app] = process.argv.slice(2).map((name) => path.resolve(name));
const ts = require(path.join(folder, 'node_modules', 'typescript'));

const options = {
  allowJs: true, checkJs: true, noEmit: true, strict: true, skipLibCheck: true, types: ['node'],
  target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.CommonJS, moduleResolution: ts.ModuleResolutionKind.Node10,
  typeRoots: [path.join(folder, 'node_modules', '@types')], baseUrl: path.join(folder, 'node_modules'), ignoreDeprecations: '5.0',
};
const program = ts.createProgram([main, app], options);
const checker = program.getTypeChecker();
const found = new Map();

function note(declaration) {
  if (!declaration || path.basename(declaration.getSourceFile().fileName) !== 'obsidian.d.ts') return;
  const owner = declaration.parent;
  // What the app adds to strings and arrays is none of its API.
  for (let node = owner; node; node = node.parent) if (ts.isModuleDeclaration(node) && node.name.text === 'global') return;
  const isMember = ts.isClassDeclaration(owner) || ts.isInterfaceDeclaration(owner);
  const name = (member) => member.name?.getText() ?? 'constructor';
  const of = isMember ? name(owner) : '';
  const event = ts.isMethodDeclaration(declaration) && declaration.parameters[0]?.type;
  const literal = event && ts.isLiteralTypeNode(event) ? `(${event.getText()})` : '';
  const since = ts.getJSDocTags(declaration).find((tag) => tag.tagName.text === 'since');
  const member = `${name(declaration)}${literal}`;
  const isClass = isMember && ts.isClassDeclaration(owner);
  const offered = isClass && offers(of, name(declaration));
  found.set(`${of}.${member}`, { of, member, isClass, since: String(since?.comment ?? '').trim(), offered });
}

/** The stand-in is flatter than the app: its `TFile` has what `TAbstractFile` has there. */
const FLAT = { TAbstractFile: 'TFile', AbstractTextComponent: 'TextComponent', WorkspaceItem: 'WorkspaceLeaf' };

/** Whether the stand-in's class of this name has a member. */
function offers(of, member) {
  const wanted = FLAT[of] ?? of;
  const ours = program.getSourceFile(app).statements.find((statement) => ts.isClassDeclaration(statement) && statement.name.text === wanted);
  return Boolean(ours && (member === 'constructor' || checker.getTypeAtLocation(ours).getProperty(member)));
}

function walk(node) {
  if (ts.isCallExpression(node)) note(checker.getResolvedSignature(node)?.declaration);
  if (ts.isPropertyAccessExpression(node) || (ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent))) {
    const isCalled = ts.isCallExpression(node.parent) && node.parent.expression === node;
    const symbol = checker.getSymbolAtLocation(node.name ?? node);
    const declarations = ts.isBindingElement(node) ? bound(node) : (symbol?.declarations ?? []);
    if (!isCalled || declarations.length === 1) declarations.forEach(note);
  }
  if (ts.isMethodDeclaration(node) && ts.isClassLike(node.parent)) overridden(node).forEach(note);
  ts.forEachChild(node, walk);
}

/** What `const { name } = thing` takes from it. */
function bound(node) {
  const pattern = node.parent;
  const type = checker.getTypeAtLocation(pattern);
  const property = type.getProperty((node.propertyName ?? node.name).getText());
  return property?.declarations ?? [];
}

/** The methods of the app's classes that a method of ours replaces: the app calls them. */
function overridden(node) {
  const clause = node.parent.heritageClauses?.[0]?.types[0];
  const property = clause && checker.getTypeAtLocation(clause).getProperty(node.name.getText());
  return property?.declarations ?? [];
}

walk(program.getSourceFile(main));
process.stdout.write(JSON.stringify([...found.values()], null, 1));
