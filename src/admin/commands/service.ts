import { type Command, InvalidArgumentError } from 'commander';
import { roles as allRoles, type Role } from '../../kernel/roles.ts';
import { lazily } from './lazily.ts';

const help = `
The unit runs this program as a user of its own in a sandbox, tells systemd when the server is ready, and reloads it
with \`systemctl reload\`. Its settings are quarterdeck.toml in the folder from which this one has its settings, else
/etc/quarterdeck, and what no command is to see in the file \`environment\` beside it. Make the user first:

  useradd --system --home-dir /var/lib/quarterdeck --shell /usr/sbin/nologin quarterdeck

With a database of your own, --roles makes a unit for each process.
`;

function roles(text: string): Role[] {
  const found = text.split(',').map((each) => each.trim());
  const unknown = found.find((each) => !(allRoles as readonly string[]).includes(each));
  if (unknown !== undefined) throw new InvalidArgumentError(`There is no role “${unknown}”; there are ${allRoles.join(', ')}.`);
  return found as Role[];
}

function user(text: string): string {
  if (!/^[a-z_][a-z0-9_-]{0,30}$|^\d{1,10}$/.test(text)) throw new InvalidArgumentError('It must be the name of a user, or a number.');
  return text;
}

export function serviceCommand(admin: Command) {
  admin
    .command('install-service')
    .description('print the unit for systemd that runs this installation, or write it')
    .option('--user <name>', 'who runs it; default: the owner of the data directory, else quarterdeck', user)
    .option('--roles <list>', 'a unit for a process that runs these alone', roles)
    .option('--write', 'to /etc/systemd/system, instead of printing it')
    .addHelpText('after', help)
    .action(lazily(async () => (await import('../service/install-service.ts')).installService));
}
