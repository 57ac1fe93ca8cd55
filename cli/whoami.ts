import type { Command as Commander } from 'commander';
import { connectionOptions, defined, rootOptions } from './command.ts';
import { type CliContext, type Connection, type ConnectionOptions, call, findConnection } from './connect.ts';
import { machineTime } from './output/look.ts';
import { type PrintOptions, print, shownOptions } from './print.ts';
import { loginAgain } from './profiles/choose.ts';
import { expiryInWords } from './profiles/expiry.ts';
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
        ...loginOf(connection),
        server: connection.url,
        ...(isTry ? { serverIs: trySentence } : {}),
      },
      { columns: {} },
      given,
    );
    warn(connection);
  });
}

/** What is known of a login. Of other tokens the server does not tell the end. */
function loginOf({ login }: Connection): Record<string, string> {
  if (!login) return {};
  const { says } = expiryInWords(login.expiresAt, machineTime());
  return { profile: login.name, tokenEnds: `${says} (${login.expiresAt})` };
}

function warn({ login }: Connection): void {
  const { says, isSoon } = login ? expiryInWords(login.expiresAt, machineTime()) : { says: '', isSoon: false };
  if (login && isSoon) console.error(`quarterdeck: the token ${says}; get another: ${loginAgain(login)}`);
}

/** As much as the list of tokens shows, to tell them apart; nothing of what does not look like a token of ours. */
const beginning = (token: string) => `${/^(qd_[a-z]+_\w{4})\w{12}/.exec(token)?.[1] ?? ''}…`;
