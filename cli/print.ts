import { Option } from 'commander';
import { emptyLists, only, pretty } from './show.ts';

export interface Shown {
  json?: boolean;
  only?: string;
}

export const shownOptions = () => [
  new Option('--json', 'the whole answer as JSON').conflicts('only'),
  new Option('--only <field>', 'one field of the answer, bare: for scripts'),
];

interface Printed {
  columns: Record<string, string[]>;
  secret?: boolean;
}

/** The answer on standard output, remarks about it on standard error. */
export function print(answer: Record<string, unknown> | undefined, { columns, secret }: Printed, options: Shown) {
  if (!answer) return;
  // `quarterdeck … | head` ends by closing our output; that is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  if (options.json) process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`);
  else if (options.only) process.stdout.write(only(answer, columns, options.only));
  else {
    process.stdout.write(pretty(answer, columns, process.stdout.isTTY ? process.stdout.columns : undefined));
    for (const list of emptyLists(answer, columns)) console.error(`no ${list}`);
    if (answer['cursor']) console.error(`more follow: --all, or --cursor ${answer['cursor']}`);
  }
  if (secret) console.error('the secret is shown only this once: keep it now');
}
