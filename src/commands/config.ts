import type { Command } from 'commander';
import { readConfig } from '../kernel/config.ts';

export function registerConfig(program: Command) {
  program
    .command('config')
    .description('show every setting: its value, where it comes from, and what it means')
    .option('--json', 'as JSON')
    .action((options: { json?: boolean }) => {
      const { explained } = readConfig(process.env, process.cwd());
      if (options.json) return void console.log(JSON.stringify(explained, null, 2));
      for (const { env, value, origin, meaning } of explained) console.log(`${env} = ${show(value)}  (${origin})\n    ${meaning}`);
    });
}

const show = (value: unknown) => (typeof value === 'string' ? value || '(none)' : value === undefined ? '(none)' : JSON.stringify(value));
