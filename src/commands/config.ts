import type { Command } from 'commander';
import { bytes } from '../admin/output.ts';
import { readConfig } from '../kernel/config.ts';

export function registerConfig(program: Command) {
  program
    .command('config')
    .description('show every setting: its value, where it comes from, and what it means')
    .option('--json', 'as JSON')
    .action((options: { json?: boolean }) => {
      const { explained } = readConfig(process.env, process.cwd());
      if (options.json) return void console.log(JSON.stringify(explained, null, 2));
      for (const { key, env, value, origin, meaning } of explained) console.log(`${env}=${typed(value, key)}  (${origin})\n    ${meaning}`);
    });
}

/** As it would be typed in a shell; `(set)` stands for a secret. */
export function typed(value: unknown, key = ''): string {
  const text = textOf(value);
  if (text === '(set)') return text;
  const note = key.endsWith('_bytes') && Number(value) >= 1024 ? `  # ${bytes(Number(value))}` : '';
  return `${/^[\w@%+=:,./-]*$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`}${note}`;
}

/** Lists with commas, addresses as host:port, ranges as first-last, upstreams as host=endpoint: the form that the setting takes. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value)) return value.map(textOf).join(',');
  if (typeof value !== 'object') return String(value);
  const { host, port, endpoint, first, last } = value as Record<string, unknown>;
  if (endpoint !== undefined) return `${host}=${endpoint}`;
  if (port !== undefined) return `${String(host).includes(':') ? `[${host}]` : host}:${port}`;
  return first !== undefined ? `${first}-${last}` : JSON.stringify(value);
}
