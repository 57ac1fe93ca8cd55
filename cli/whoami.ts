import type { Command as Commander } from 'commander';
import { connectionOptions, defined, rootOptions } from './command.ts';
import { type CliContext, type ConnectionOptions, call, findConnection } from './connect.ts';
import { type PrintOptions, print, shownOptions } from './print.ts';
import { isTryServer, trySentence } from './try/is-try-server.ts';

export function registerWhoami(program: Commander, here: CliContext) {
  const command = program.command('whoami').description('who you are, in which organization, with which token, on which server');
  for (const option of [...shownOptions(), ...connectionOptions()]) command.addOption(option);
  command.action(async (given: ConnectionOptions & PrintOptions) => {
    const connection = await findConnection({ ...rootOptions(command), ...defined(given) }, here);
    const [me, isTry] = await Promise.all([call(connection, here, {}, (api) => api.organization.getMe()), isTryServer(connection.url)]);
    const [organization] = me.organizations;
    print(
      {
        user: me.email,
        name: me.name,
        organization: organization?.slug,
        role: organization?.role,
        token: beginning(connection.token!),
        tokenFrom: connection.tokenFrom,
        server: connection.url,
        ...(isTry ? { serverIs: trySentence } : {}),
      },
      { columns: {} },
      given,
    );
  });
}

/** As much as the list of tokens shows, to tell them apart; nothing of what does not look like a token of ours. */
const beginning = (token: string) => `${/^(qd_[a-z]+_\w{4})\w{12}/.exec(token)?.[1] ?? ''}…`;
