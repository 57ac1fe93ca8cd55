import ts from 'typescript';
import { folderOf, lineOf, nodesBelow, type Rule, type Source, treeOf } from './rule.ts';

/** What tells the caller's rights, and what judges by them. */
const rights = new Set(['visible', 'reach', 'require', 'principal']);

/** The outermost calls of `ctx.write` in a file. */
const writesIn = (tree: ts.SourceFile): ts.CallExpression[] =>
  nodesBelow(tree)
    .filter(ts.isCallExpression)
    .filter((call) => call.expression.getText() === 'ctx.write');

/** `ctx.principal.org` names the organization, and no right. */
const isOrganization = (node: ts.Node) => ts.isPropertyAccessExpression(node) && node.getText() === 'ctx.principal.org';

/** Where rights are asked for: `ctx.require(…)`, `ctx.visible`, or a function that is given `tx, ctx` and finds what the caller may reach. */
function asksRights(node: ts.Node): boolean {
  if (ts.isPropertyAccessExpression(node))
    return node.expression.getText() === 'ctx' && rights.has(node.name.text) && !isOrganization(node.parent);
  if (!ts.isCallExpression(node) || /^audit/.test(node.expression.getText())) return false;
  const [first, second] = node.arguments;
  return first?.getText() === 'tx' && second?.getText() === 'ctx';
}

const isInside = (node: ts.Node, outer: ts.Node) => node.pos >= outer.pos && node.end <= outer.end;

const operation = (text: string, area = 'x'): Source[] => [{ file: `src/areas/${area}/operations/change-thing.ts`, text }];

/** Rights that were found before a transaction may be over when it begins: docs/decisions, “rights are read in the transaction”. */
export const rightsAreAskedInside: Rule<Source[]> = {
  name: 'an operation that changes something asks for rights inside ctx.write',
  enforced: true,
  find: (sources) =>
    sources
      .filter(({ file, text }) => folderOf(file) === 'operations' && text.includes('ctx.write('))
      .flatMap((source) => {
        const tree = treeOf(source);
        const writes = writesIn(tree);
        const asked = nodesBelow(tree).filter(asksRights);
        const inside = asked.filter((node) => writes.some((write) => isInside(node, write)));
        const early = asked.filter((node) => writes.some((write) => node.end <= write.pos) && !inside.includes(node));
        return inside.length || !early.length
          ? []
          : [
              {
                where: `${source.file}:${lineOf(tree, early[0]!.getStart())}`,
                what: 'asks for rights before ctx.write and not inside; they may be revoked by then',
              },
            ];
      }),
  except: [],
  planted: [
    operation('operation(x, async ({ ctx }) => { ctx.require(params.id); return ctx.write((tx) => change(tx, params.id)); });'),
    operation(
      'operation(x, async ({ ctx }) => { const seen = await ctx.read((tx) => findThing(tx, ctx, 1)); return ctx.write((tx) => change(tx, seen)); });',
    ),
    operation('operation(x, async ({ ctx }) => { const all = ctx.visible; return ctx.write((tx) => change(tx, all)); });'),
    operation('operation(x, async ({ ctx }) => { ctx.require(1); return ctx.write((tx) => change(tx)); });', 'email/outbound'),
    operation('operation(x, async ({ ctx }) => { const held = ctx.principal.grants; return ctx.write((tx) => change(tx, held)); });'),
  ],
  innocent: [
    operation(
      'operation(x, async ({ ctx }) => { ctx.require(1); return ctx.write(async (tx) => { ctx.require(1); await change(tx, 1); }); });',
    ),
    operation('operation(x, async ({ ctx }) => ctx.write(async (tx) => change(tx, await lockThing(tx, ctx, 1))));'),
    operation('operation(x, async ({ ctx }) => ctx.read(async (tx) => ok(await findThing(tx, ctx, 1))));'),
    operation('operation(x, async ({ ctx }) => { await askProvider(ctx.principal.org); return ctx.write((tx) => change(tx, 1)); });'),
  ],
};
