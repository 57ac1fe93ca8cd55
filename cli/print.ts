import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Option } from 'commander';
import type { Column } from '../sdk/commands.ts';
import type { Json } from '../sdk/values.ts';
import { endWithoutOutput, exitCodes, Failure, isClosed, usage } from './exit.ts';
import { chosenColumns, names, only, sorted } from './output/arrange.ts';
import { isDnsList, recordsOf, zoneFile } from './output/dns.ts';
import { type Look, lookOf } from './output/look.ts';
import { emptyLists, handleOf, sheet, unwrapped } from './output/sheet.ts';
import { yaml } from './output/yaml.ts';
import { printable } from './printable.ts';
import { tell } from './tell.ts';

export interface PrintOptions {
  json?: boolean;
  only?: string;
  output?: string;
  columns?: string;
  sort?: string;
}

interface Printed {
  columns: Record<string, Column[]>;
  next?: string[];
  secret?: boolean;
  /** The command that makes the first thing of a list that is empty. */
  creator?: string | undefined;
}

/** How the answer of a command can be shown; `columns`: of its lists. */
export function shownOptions({ columns }: Pick<Printed, 'columns'> = { columns: {} }): Option[] {
  const lists = Object.values(columns);
  // A domain's list shows the records of every domain.
  const hasRecords = lists.some((list) => isDnsList(list) || list.some(({ key }) => key === 'dnsRecords'));
  const formats = ['table', ...(lists.length ? ['wide'] : []), 'json', 'yaml', 'name', ...(hasRecords ? ['zone'] : [])];
  return [
    new Option(
      '-o, --output <format>',
      [
        'how the answer is shown',
        ...(lists.length ? ['wide: with further columns'] : []),
        ...(hasRecords ? ['zone: its DNS records as a zone file'] : []),
      ].join('; '),
    )
      .choices(formats)
      .conflicts(['json', 'only']),
    ...(lists.length
      ? [
          new Option('--columns <names>', 'these columns of the list, in this order, separated by commas').conflicts(['json', 'only']),
          new Option('--sort <column>', 'sort the list by a column; -column: the other way round'),
        ]
      : []),
    new Option('--json', 'the whole answer as JSON').conflicts('only'),
    new Option('--only <field>', 'one field of the answer, bare: for scripts'),
  ];
}

/** For commands without output: scripts that ask every command for JSON read JSON here too. */
export const silentOptions = () => [
  new Option('--json', 'print {} when it is done'),
  new Option('-o, --output <format>', 'json or yaml: print {} when it is done').choices(['table', 'json', 'yaml', 'name']),
];

/** The answer on standard output, remarks about it on standard error. */
export function print(answer: Json | undefined, { columns, next, secret, creator }: Printed, options: PrintOptions) {
  process.stdout.on('error', endWithoutOutput);
  const output = options.json ? 'json' : (options.output ?? 'table');
  if (!answer) return void (['json', 'yaml'].includes(output) && process.stdout.write('{}\n'));
  try {
    printAnswer(answer, { columns, next, creator }, options, output);
  } catch (error) {
    // A wrong --only must not cost what is never shown again.
    if (secret) process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`);
    throw error;
  } finally {
    if (secret) tell('the secret is shown only this once: keep it now');
  }
}

function printAnswer(answer: Json, { columns, next, creator }: Omit<Printed, 'secret'>, options: PrintOptions, output: string) {
  const look = lookOf(process.stdout, process.env);
  const arranged = options.sort === undefined ? answer : sorted(answer, columns, options.sort);
  const shown = { columns: options.columns === undefined ? columns : chosenColumns(columns, options.columns), ...(next ? { next } : {}) };
  const isForPeople = !options.only && (output === 'table' || output === 'wide');
  process.stdout.write(options.only ? bare(only(arranged, columns, options.only), look) : formatted(arranged, shown, output, look));
  if (isForPeople) for (const list of emptyLists(answer, columns)) tell(creator ? `no ${list} yet; make one: ${creator}` : `no ${list}`);
  if (answer['cursor'] && (isForPeople || output === 'name') && !options.only)
    tell(`more follow${options.sort ? ', and are not sorted in' : ''}: --all, or --cursor ${printable(String(answer['cursor']))}`);
}

/** An answer in one of the formats of `-o`. */
export function formatted(answer: Json, shown: Pick<Printed, 'columns' | 'next'>, output: string, look: Look): string {
  switch (output) {
    case 'json':
      return `${harmless(JSON.stringify(answer, null, 2), look)}\n`;
    case 'yaml':
      return yaml(answer);
    case 'name':
      return bare(names(unwrapped(answer, shown.columns), shown.columns, handleOf), look);
    case 'zone':
      return zoneFile(recordsOf(answer) ?? usage('the answer has no DNS records; -o zone is for email domains'));
    default:
      return sheet(answer, shown, look, output === 'wide');
  }
}

/** For programs as they are; on a terminal, what others wrote does not steer it. */
const bare = (lines: string[], { width }: Look) => lines.map((line) => `${width === undefined ? line : printable(line)}\n`).join('');

/** The same JSON, with what would steer a terminal as \u escapes. */
export const harmless = (json: string, { width }: Pick<Look, 'width'>) =>
  width === undefined
    ? json
    : json.replaceAll(/[\x7f-\x9f\u2028\u2029]|\p{Cf}/gu, (c) =>
        Array.from({ length: c.length }, (_, i) => `\\u${c.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
      );

/** An answer that is not JSON, as it comes. */
export async function printStream({ body }: Response) {
  try {
    if (body) await pipeline(Readable.fromWeb(body as never), process.stdout, { end: false });
  } catch (error) {
    if (!isClosed(error)) throw new Failure(exitCodes.unavailable, 'the answer broke off: what was printed is not all of it');
  }
}
