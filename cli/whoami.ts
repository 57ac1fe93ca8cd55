import type { Command as Commander } from 'commander';
import { connectionOptions, defined, rootOptions } from './command.ts';
import { call, find, type Here, type Wanted } from './connect.ts';
import { print, type Shown, shownOptions } from './print.ts';

export function registerWhoami(program: Commander, here: Here) {
  const command = program.command('whoami').description('who you are, in which organization, with which token, on which server');
  for (const option of [...shownOptions(), ...connectionOptions()]) command.addOption(option);
  command.action(async (given: Wanted & Shown) => {
    const connection = await find({ ...rootOptions(command), ...defined(given) }, here);
    const me = await call(connection, here, {}, (api) => api.organization.getMe());
    const [organization] = me.organizations;
    print(
      {
        user: me.email,
        name: me.name,
        organization: organization?.slug,
        role: organization?.role,
        token: `${connection.token!.slice(0, 11)}…`,
        tokenFrom: connection.tokenFrom,
        server: connection.url,
      },
      { columns: {} },
      given,
    );
  });
}
