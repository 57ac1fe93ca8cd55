import { dirname, join } from 'node:path';
import ts from 'typescript';
import { importsOf, nodesBelow, type Source, treeOf } from './rule.ts';

/** What a file calls by which name: its own declarations with the names that each uses, and where other names come from. */
export interface Module {
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

export const readModules = (sources: Source[]): Map<string, Module> => new Map(sources.map((source) => [source.file, read(source)]));

/** Whether the declarations of a file call, through other functions as well, one that `isTarget` accepts. */
export function reaches(modules: Map<string, Module>, file: string, isTarget: (file: string, name: string) => boolean): boolean {
  const seen = new Set<string>();
  const follow = (at: string, name: string): boolean => {
    if (isTarget(at, name)) return true;
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
