import ts from 'typescript';
import { lineOf, nodesBelow, type Rule, type Source, treeOf } from './rule.ts';

/** `list.push(...items)` and `list.unshift(...items)`: each item becomes an argument, and some 100,000 arguments are a RangeError. */
const isSpreadIntoList = (node: ts.Node): node is ts.CallExpression =>
  ts.isCallExpression(node) &&
  ts.isPropertyAccessExpression(node.expression) &&
  /^(push|unshift)$/.test(node.expression.name.text) &&
  node.arguments.some(ts.isSpreadElement);

const at = (text: string): Source[] => [{ file: 'src/areas/x/a.ts', text }];

export const listsAreNoArguments: Rule<Source[]> = {
  name: 'a list of any length is appended item by item',
  enforced: true,
  find: (sources) =>
    sources
      .filter(({ file }) => file.startsWith('src/'))
      .flatMap((source) => {
        const tree = treeOf(source);
        return nodesBelow(tree)
          .filter(isSpreadIntoList)
          .map((call) => ({
            where: source.file,
            what: `line ${lineOf(tree, call.getStart(tree))} makes a list arguments; use append of src/kernel/steps.ts`,
          }));
      }),
  except: [[/^src\/kernel\/jobs\/recorder\.ts$/, 'a batch of outcomes has a limit']],
  planted: [
    at('all.push(...some);'),
    at('owner?.push(...lines)'),
    at('queue.unshift(first, ...await read());'),
    at('this.#all.push(...list.splice(0, 5))'),
  ],
  innocent: [at('all.push(one, [...some]);'), at('const all = [...some, ...more];'), at('run(...steps);')],
};
