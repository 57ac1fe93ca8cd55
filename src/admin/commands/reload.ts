import { type Command, InvalidArgumentError } from 'commander';
import { lazily } from './lazily.ts';
import { jsonOption } from './options.ts';

const help = `
The server goes on until the next one has loaded its program, read its settings and applied migrations; then it
finishes its requests, and the next one takes over its sockets, its data directory and its PostgreSQL. Connections
wait meanwhile. If the next one is not ready within a minute, nothing changes and the reason is printed.

What needs a stop and a start: another QUARTERDECK_DATA or database, settings given as environment variables,
another version of the embedded PostgreSQL, and \`serve --try\`.
`;

function pid(text: string): number {
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new InvalidArgumentError('It must be the number of a process.');
  return Number(text);
}

export function reloadCommand(admin: Command) {
  admin
    .command('reload')
    .description('replace the running servers of this data directory by the program and settings that are on disk now')
    .addHelpText('after', help)
    .option('--pid <number>', 'only the one with this process, as a service manager knows it', pid)
    .addOption(jsonOption())
    .action(lazily(async () => (await import('../reload.ts')).reloadServers));
}
