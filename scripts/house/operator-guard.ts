import ts from 'typescript';
import { nodesBelow, type Rule, type Source, treeOf } from './rule.ts';

/** Guards that a file makes itself or gets as the operator's: they let private addresses through. */
const guardNames = new Set(['makeOperatorGuard', 'operatorGuard', 'makeGuard']);

const guardsIn = (source: Source): string[] => [
  ...new Set(
    nodesBelow(treeOf(source))
      .filter(ts.isIdentifier)
      .map(({ text }) => text)
      .filter((text) => guardNames.has(text)),
  ),
];

const at = (file: string, text: string): Source[] => [{ file, text }];

export const membersUseTheirGuard: Rule<Source[]> = {
  name: 'an address that a member gives goes through the guard for members',
  enforced: true,
  find: (sources) =>
    sources
      .filter(({ file }) => file.startsWith('src/') && !file.startsWith('src/kernel/guard/'))
      .flatMap((source) =>
        guardsIn(source).map((name) => ({
          where: source.file,
          what: `\`${name}\` lets private addresses through: a member's address takes \`app.guard\`; an operator's, a line in the exceptions`,
        })),
      ),
  except: [
    [/^src\/serve\.ts$/, 'makes the guard for members'],
    [/^src\/programs\/prober\/checks\/guard\.ts$/, 'makes the guard for members in the prober, which has no app'],
    [/^src\/admin\/clusters\/install\.ts$/, 'downloads from addresses that the operator gives on the command line'],
    [/^src\/areas\/email\/open\.ts$/, 'the smart host stands in the configuration'],
    [/^src\/areas\/certificates\/open\.ts$/, 'the certificate authority stands in the configuration'],
    [/^src\/areas\/email\/outbound\/engine\/sending\/index\.ts$/, 'the smart host stands in the configuration'],
    [
      /^src\/areas\/clusters\/planes\/balancer\/program\.ts$/,
      'makes the guard for members in a program, which has no app; and that of a mesh',
    ],
    [/^src\/areas\/clusters\/engine\/mesh\/index\.ts$/, 'connects inside the namespace of one mesh, to nodes that are in it'],
  ],
  planted: [
    at('src/areas/x/open.ts', "import { makeOperatorGuard } from '../../kernel/guard/index.ts';\nmakeOperatorGuard([]).fetch(hook.url);"),
    at('src/areas/x/engine/send.ts', 'export const send = ({ operatorGuard }: Parts, url: string) => operatorGuard.fetch(url);'),
    at('src/drivers/x/engine/send.ts', 'makeGuard({ allow: everything }).fetch(url);'),
    at('src/areas/x/engine/send.ts', 'makeGuard({ allow: everything }).fetch(url);'),
  ],
  innocent: [at('src/areas/x/engine/send.ts', 'export const send = ({ guard }: App, url: string) => guard.fetch(url);')],
};
