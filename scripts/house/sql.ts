import ts from 'typescript';
import { folderOf, importsOf, lineOf, nodesBelow, type Rule, type Source, treeOf } from './rule.ts';

const speakers = new Set(['row', 'rows', 'run', 'sql']);

/** Lines that speak SQL: a template of the kernel's (`rows(tx, Row)`, `sql`), or text given to a connection. */
function sqlLines(source: Source): number[] {
  const tree = treeOf(source);
  const ours = new Set(
    importsOf(tree)
      .filter(({ imported, module }) => speakers.has(imported) && /\/kernel\/(db|sql)(\/\w+)?\.ts$/.test(module))
      .map(({ local }) => local),
  );
  const lines: number[] = [];
  for (const node of nodesBelow(tree)) {
    const tag = ts.isTaggedTemplateExpression(node) ? node.tag : undefined;
    const name = tag && ts.isCallExpression(tag) ? tag.expression : tag;
    // The operator's tools have connections of their own, outside any transaction of the kernel's.
    const isQuery =
      !source.file.startsWith('src/admin/') &&
      ts.isCallExpression(node) &&
      ts.isPropertyAccessExpression(node.expression) &&
      node.expression.name.text === 'query' &&
      node.arguments[0] !== undefined &&
      (ts.isStringLiteralLike(node.arguments[0]) || ts.isTemplateExpression(node.arguments[0]));
    if ((name && ts.isIdentifier(name) && ours.has(name.text)) || isQuery) lines.push(lineOf(tree, node.getStart()));
  }
  return lines;
}

/** Where SQL must not stand. The kernel is machinery for SQL, and what boots or migrates a database speaks it too. */
const mustNotSpeakSql = (file: string) =>
  (/^src\/areas\//.test(file) && folderOf(file) !== 'store') ||
  (/^src\/drivers\//.test(file) && !/^src\/drivers\/[^/]+\/store\//.test(file)) ||
  (/^src\/identity\//.test(file) && !/^src\/identity\/store\//.test(file)) ||
  (/^src\/admin\//.test(file) && !/\/store(\/|[^/]*\.ts$)/.test(file)) ||
  /^src\/(programs|protocols|commands)\//.test(file);

const at = (file: string, text: string): Source[] => [{ file, text }];
const kernel = "import { row, rows, run } from '../../kernel/db/index.ts';\nimport { sql } from '../../kernel/sql.ts';\n";

export const onlyStoresSpeakSql: Rule<Source[]> = {
  name: 'only store speaks SQL',
  enforced: true,
  find: (sources) =>
    sources
      .filter(({ file }) => mustNotSpeakSql(file))
      .flatMap((source) => {
        const lines = sqlLines(source);
        return lines.length ? [{ where: source.file, what: `speaks SQL (line ${lines.join(', ')}); that belongs into store/` }] : [];
      }),
  except: [],
  planted: [
    at('src/areas/x/quota.ts', `${kernel}export const a = (tx: Tx) => row(tx, A)\`select 1\`;`),
    at('src/areas/x/engine/a.ts', `${kernel}export const a = (tx: Tx) => run(tx)\`delete from a\`;`),
    at('src/areas/x/store.ts', `${kernel}export const a = (tx: Tx) => rows(tx, A)\`select 1\`;`),
    at('src/areas/x/operations/a.ts', `${kernel}export const a = sql\`true\`;`),
    at('src/drivers/x/engine/a.ts', `${kernel}export const a = (tx: Tx) => run(tx)\`delete from a\`;`),
    at('src/identity/a.ts', `${kernel}export const a = (tx: Tx) => run(tx)\`delete from a\`;`),
    at('src/areas/x/a.ts', "export const a = (client: Client) => client.query('select 1');"),
    at('src/admin/key/a.ts', `${kernel}export const a = (tx: Tx) => run(tx)\`delete from a\`;`),
  ],
  innocent: [
    at('src/areas/email/outbound/store/a.ts', `${kernel}export const a = (tx: Tx) => row(tx, A)\`select 1\`;`),
    at('src/drivers/x/store/a.ts', `${kernel}export const a = (tx: Tx) => row(tx, A)\`select 1\`;`),
    at('src/areas/x/store/a.ts', `${kernel}export const a = (tx: Tx) => row(tx, A)\`select 1\`;`),
    at('src/identity/store/a.ts', `${kernel}export const a = sql\`true\`;`),
    at('src/admin/store-members.ts', `${kernel}export const a = sql\`true\`;`),
    at('src/admin/backup/store.ts', `${kernel}export const a = sql\`true\`;`),
    at('src/areas/x/a.ts', "import { run } from './run.ts';\nexport const a = run(1)`text`;"),
  ],
};
