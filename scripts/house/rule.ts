import ts from 'typescript';

export interface Source {
  file: string;
  text: string;
}

/** An area too large for one set of folders has sub-areas, each with the same folders. */
export const subAreas: Record<string, readonly string[]> = { email: ['domains', 'outbound', 'inbound', 'webhooks'] };

/** The folder of its area or sub-area that a file stands in: `operations`, `store`. Undefined outside of the areas. */
export function folderOf(file: string): string | undefined {
  const [src, areas, area, first, second] = file.split('/');
  if (src !== 'src' || areas !== 'areas' || area === undefined || first === undefined) return undefined;
  return subAreas[area]?.includes(first) ? second : first;
}

/** Where a rule is broken, and a sentence about it. */
export interface Breach {
  where: string;
  what: string;
}

/** Something that every change must keep to, and what proves that it would be noticed if one did not. */
export interface Rule<Input> {
  name: string;
  /** False while the sources move towards it: then its breaches are told, and fail nothing. */
  enforced: boolean;
  find(input: Input): Breach[];
  /** Places that may break it, each with the reason. */
  except: [where: RegExp, reason: string][];
  /** In each of these something must be found. */
  planted: Input[];
  /** In these nothing may be found. */
  innocent: Input[];
}

/** The planted violations come first: a rule that finds nothing because it sees nothing is no rule. And no exception outlives its need. */
export function judge<Input>({ name, find, except, planted, innocent }: Rule<Input>, input: Input): string[] {
  const blind = planted.flatMap((it, i) => (find(it).length ? [] : [`the rule "${name}" does not find its planted violation ${i + 1}`]));
  const wrong = innocent.flatMap((it, i) =>
    find(it).map(({ what }) => `the rule "${name}" objects to what is right (innocent ${i + 1}): ${what}`),
  );
  const found = find(input);
  const stale = except.filter(([where]) => !found.some((breach) => where.test(breach.where)));
  return [
    ...blind,
    ...wrong,
    ...found.filter((breach) => !except.some(([where]) => where.test(breach.where))).map(({ where, what }) => `${where}: ${what}`),
    ...stale.map(
      ([where, reason]) => `the rule "${name}" has an exception for ${where} that nothing needs any more (${reason}); remove it`,
    ),
  ];
}

const trees = new Map<Source, ts.SourceFile>();
export function treeOf(source: Source): ts.SourceFile {
  const known = trees.get(source) ?? ts.createSourceFile(source.file, source.text, ts.ScriptTarget.ESNext, true);
  trees.set(source, known);
  return known;
}

/** Of whole files, which several rules walk through. */
const walked = new WeakMap<ts.Node, ts.Node[]>();

/** Every node below this one, depth first. */
export function nodesBelow(node: ts.Node): readonly ts.Node[] {
  const known = walked.get(node);
  if (known) return known;
  const nodes: ts.Node[] = [];
  const walk = (inner: ts.Node) => {
    nodes.push(inner);
    ts.forEachChild(inner, walk);
  };
  ts.forEachChild(node, walk);
  if (ts.isSourceFile(node)) walked.set(node, nodes);
  return nodes;
}

export const lineOf = (tree: ts.SourceFile, position: number) => tree.getLineAndCharacterOfPosition(position).line + 1;

/** What a file imports as values: the local name, and where it comes from. */
export function importsOf(tree: ts.SourceFile): { local: string; imported: string; module: string }[] {
  return tree.statements.filter(ts.isImportDeclaration).flatMap(({ importClause: clause, moduleSpecifier }) => {
    const module = (moduleSpecifier as ts.StringLiteral).text;
    if (!clause || clause.isTypeOnly) return [];
    const all = clause.name ? [{ local: clause.name.text, imported: 'default', module }] : [];
    const bindings = clause.namedBindings;
    if (!bindings) return all;
    if (ts.isNamespaceImport(bindings)) return [...all, { local: bindings.name.text, imported: 'default', module }];
    const named = bindings.elements.filter((e) => !e.isTypeOnly);
    return [...all, ...named.map((e) => ({ local: e.name.text, imported: (e.propertyName ?? e.name).text, module }))];
  });
}
