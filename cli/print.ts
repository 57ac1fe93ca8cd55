import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Option } from 'commander';
import { endWithoutOutput, exitCodes, Failure, isClosed } from './exit.ts';
import { emptyLists, only, pretty } from './show.ts';

export interface PrintOptions {
  json?: boolean;
  only?: string;
}

export const shownOptions = () => [
  new Option('--json', 'the whole answer as JSON').conflicts('only'),
  new Option('--only <field>', 'one field of the answer, bare: for scripts'),
];

/** For commands without output: scripts that pass `--json` to every command read JSON here too. */
export const silentOption = () => new Option('--json', 'print {} when it is done');

interface Printed {
  columns: Record<string, string[]>;
  secret?: boolean;
}

/** The answer on standard output, remarks about it on standard error. */
export function print(answer: Record<string, unknown> | undefined, { columns, secret }: Printed, options: PrintOptions) {
  process.stdout.on('error', endWithoutOutput);
  if (!answer) return void (options.json && process.stdout.write('{}\n'));
  if (options.json) process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`);
  else if (options.only) process.stdout.write(only(answer, columns, options.only));
  else {
    process.stdout.write(pretty(answer, columns, process.stdout.isTTY ? process.stdout.columns : undefined));
    for (const list of emptyLists(answer, columns)) console.error(`no ${list}`);
    if (answer['cursor']) console.error(`more follow: --all, or --cursor ${answer['cursor']}`);
  }
  if (secret) console.error('the secret is shown only this once: keep it now');
}

/** An answer that is not JSON, as it comes. */
export async function printStream({ body }: Response) {
  try {
    if (body) await pipeline(Readable.fromWeb(body as never), process.stdout, { end: false });
  } catch (error) {
    if (!isClosed(error)) throw new Failure(exitCodes.unavailable, 'the answer broke off: what was printed is not all of it');
  }
}
