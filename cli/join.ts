import type { Command as Commander } from 'commander';
import { defined, rootOptions } from './command.ts';
import { type CliContext, call, findConnection } from './connect.ts';
import { usage } from './exit.ts';
import { serverUrl } from './origin.ts';
import { type PrintOptions, print, shownOptions } from './print.ts';
import { tell } from './tell.ts';

interface Given extends PrintOptions {
  name?: string;
  token?: string;
}

export function registerJoin(program: Commander, here: CliContext) {
  const command = program
    .command('join')
    .description('join an organization by its invitation link; answers with a token of yours')
    .argument('<link>', 'https://…/join/qd_inv_…')
    .option('--name <text>', 'your name, when you are new there')
    .option(
      '--token <token>',
      'yours on that server, when you already have an account; default: QUARTERDECK_TOKEN, if it is for that server',
    );
  for (const option of shownOptions()) command.addOption(option);
  command.action(async (link: string, given: Given) => {
    const { server, secret } = partsOf(link);
    const { token } = { ...rootOptions(command), ...defined(given) };
    // Never the owner's token of this machine: it belongs to somebody else than the one who was invited.
    const connection = await findConnection({ url: server, ...(token ? { token } : {}) }, here, { mayBeOwner: false });
    const { url } = connection;
    const { orgSlug, key } = await call(connection, here, { open: true }, (api) =>
      api.organization.acceptInvitation({ secret, ...(given.name ? { name: given.name } : {}) }),
    );
    print({ organization: orgSlug, url, token: key }, { columns: {}, secret: true }, given);
    tell(`to use it: export QUARTERDECK_URL=${url} QUARTERDECK_TOKEN=<the token>`);
  });
}

/** A link comes from somebody else, and its server's URL is shown to be copied into a shell: nothing in it may mean something there. */
function partsOf(link: string): { server: string; secret: string } {
  const [, server, secret] = /^(https?:\/\/[^\s/?#]+(?:\/[\w.~%-]+)*)\/join\/([\w-]+)$/.exec(link) ?? [];
  if (!server || !/^[\w.:/[\]~%-]+$/.test(serverUrl(server))) return usage('an invitation link looks like https://…/join/qd_inv_…');
  return { server, secret: secret! };
}
