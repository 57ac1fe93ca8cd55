import type { Command as Commander } from 'commander';
import { defined, rootOptions } from './command.ts';
import { call, type Here } from './connect.ts';
import { usage } from './exit.ts';
import { print, type Shown, shownOptions } from './print.ts';

interface Given extends Shown {
  name?: string;
  token?: string;
}

export function registerJoin(program: Commander, here: Here) {
  const command = program
    .command('join')
    .description('join an organization by its invitation link; answers with a token of yours')
    .argument('<link>', 'https://…/join/qd_inv_…')
    .option('--name <text>', 'your name, when you are new there')
    .option('--token <token>', 'yours on that server, when you already have an account; default: QUARTERDECK_TOKEN');
  for (const option of shownOptions()) command.addOption(option);
  command.action(async (link: string, given: Given) => {
    const [, url, secret] =
      /^(https?:\/\/.+)\/join\/([^/?#]+)$/.exec(link) ?? usage('an invitation link looks like https://…/join/qd_inv_…');
    // Never the owner's token of this machine: it belongs to somebody else than the one who was invited.
    const { token = here.env['QUARTERDECK_TOKEN'] } = { ...rootOptions(command), ...defined(given) };
    const connection = { url: url!, token, tokenFrom: given.token ? 'the one of --token' : token ? 'QUARTERDECK_TOKEN' : 'none' };
    const { orgSlug, key } = await call(connection, here, { open: true }, (api) =>
      api.organization.acceptInvitation({ secret: secret!, ...(given.name ? { name: given.name } : {}) }),
    );
    print({ organization: orgSlug, url, token: key }, { columns: {}, secret: true }, given);
    console.error(`to use it: export QUARTERDECK_URL=${url} QUARTERDECK_TOKEN=<the token>`);
  });
}
