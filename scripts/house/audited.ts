import { dirname, join } from 'node:path';
import ts from 'typescript';
import { importsOf, nodesBelow, type Rule, type Source, treeOf } from './rule.ts';

/** What a file calls by which name: its own declarations with the names that each uses, and where other names come from. */
interface Module {
  own: Map<string, Set<string>>;
  from: Map<string, { file: string; name: string }>;
  /** Files that it hands on whole. */
  onward: string[];
}

const resolve = (file: string, module: string) => (module.startsWith('.') ? join(dirname(file), module) : module);

function read(source: Source): Module {
  const tree = treeOf(source);
  const found: Module = { own: new Map(), from: new Map(), onward: [] };
  for (const { local, imported, module } of importsOf(tree)) found.from.set(local, { file: resolve(source.file, module), name: imported });
  for (const statement of tree.statements) {
    if (ts.isFunctionDeclaration(statement) && statement.name) found.own.set(statement.name.text, namesIn(statement));
    if (ts.isVariableStatement(statement))
      for (const one of statement.declarationList.declarations) found.own.set(one.name.getText(), namesIn(one));
    if (!ts.isExportDeclaration(statement) || !statement.moduleSpecifier) continue;
    const file = resolve(source.file, (statement.moduleSpecifier as ts.StringLiteral).text);
    if (!statement.exportClause) found.onward.push(file);
    else if (ts.isNamedExports(statement.exportClause))
      for (const e of statement.exportClause.elements) found.from.set(e.name.text, { file, name: (e.propertyName ?? e.name).text });
  }
  return found;
}

/** Every name below a node; of what a namespace holds, `store.insertToken`. */
const namesIn = (node: ts.Node) =>
  new Set(
    [...nodesBelow(node)].flatMap((n) =>
      ts.isPropertyAccessExpression(n) ? [n.getText()] : ts.isIdentifier(n) && !ts.isPropertyAccessExpression(n.parent) ? [n.text] : [],
    ),
  );

const audits = (file: string, name: string) => /^audit/.test(name) && /^src\/identity\//.test(file);

/** Whether what a file declares comes, through whatever it calls, to a row in the audit log. */
function comesToAudit(modules: Map<string, Module>, file: string): boolean {
  const seen = new Set<string>();
  const follow = (at: string, name: string): boolean => {
    if (audits(at, name)) return true;
    const key = `${at} ${name}`;
    if (seen.has(key)) return false;
    seen.add(key);
    const module = modules.get(at);
    if (!module) return false;
    const own = module.own.get(name);
    if (own && [...own].some((used) => follow(at, used))) return true;
    const origin = module.from.get(name);
    if (origin) return follow(origin.file, origin.name);
    const [holder, member] = name.split('.') as [string, string | undefined];
    const held = member ? module.from.get(holder) : undefined;
    return held ? follow(held.file, member!) : module.onward.some((next) => follow(next, name));
  };
  return [...(modules.get(file)?.own.keys() ?? [])].some((name) => follow(file, name));
}

const isOperation = (file: string) => /^src\/areas\/[^/]+\/operations\//.test(file);
const operation = (text: string): Source => ({
  file: 'src/areas/x/operations/make-thing.ts',
  text: `import { makeThing as make } from '../engine/things.ts';\nimport * as store from '../store/things.ts';\n${text}`,
});
const writes = 'export const makeThing = operation(x.makeThing, ({ ctx }) => ctx.write((tx) => make(tx)));';
const engine = (text: string): Source => ({
  file: 'src/areas/x/engine/things.ts',
  text: `import { audit } from '../../../identity/audit.ts';\n${text}`,
});

export const whatChangesIsAudited: Rule<Source[]> = {
  name: 'what changes something says so in the audit log',
  enforced: true,
  find: (sources) => {
    const modules = new Map(sources.map((source) => [source.file, read(source)]));
    return sources
      .filter(({ file, text }) => isOperation(file) && /\bctx\.write\(/.test(text) && !/\bunaudited:/.test(text))
      .filter(({ file }) => !comesToAudit(modules, file))
      .map(({ file }) => ({ where: file, what: 'writes without an audit row, whatever it calls; or say why in a comment `unaudited: …`' }));
  },
  except: [],
  planted: [
    [operation(writes), engine('export const makeThing = (tx: Tx) => insert(tx);\nexport const end = (tx: Tx) => audit(tx);')],
    [operation('export const makeThing = operation(x.makeThing, ({ ctx }) => ctx.write((tx) => store.insert(tx)));')],
  ],
  innocent: [
    [operation(writes), engine('export const makeThing = (tx: Tx) => told(tx);\nconst told = async (tx: Tx) => audit(tx);')],
    [operation(`// unaudited: not needed\n${writes}`)],
    [
      operation('export const makeThing = operation(x.makeThing, ({ ctx }) => ctx.write((tx) => store.insert(tx)));'),
      { file: 'src/areas/x/store/things.ts', text: "export { makeThing as insert } from '../engine/things.ts';" },
      engine('export async function makeThing(tx: Tx) { await audit(tx); }'),
    ],
  ],
};
