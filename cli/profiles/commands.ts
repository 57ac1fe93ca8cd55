import type { Command as Commander } from 'commander';
import { commandName } from '../command-name.ts';
import type { CliContext } from '../connect.ts';
import { Failure, usage } from '../exit.ts';
import { machineTime } from '../output/look.ts';
import { type PrintOptions, print, shownOptions } from '../print.ts';
import { printable } from '../printable.ts';
import { namedProfile } from './choose.ts';
import { expiryInWords } from './expiry.ts';
import { currentName, localName, type Profile, profileNames, readProfile, removeProfile, useProfile } from './folder.ts';
import { forget, sayToken } from './logout.ts';

const columns = {
  profiles: [{ key: 'name' }, { key: 'use' }, { key: 'server' }, { key: 'organization' }, { key: 'user' }, { key: 'token' }],
};

/** `quarterdeck profile …`: the logins of this user on this machine. */
export function registerProfile(program: Commander, here: CliContext) {
  const group = program
    .command('profile')
    .description('your logins: several servers and organizations, of which one is in use')
    .helpCommand(false)
    .showHelpAfterError(`(see ${commandName} profile --help)`);

  const list = group.command('list').description('the logins of this machine');
  for (const option of shownOptions({ columns })) list.addOption(option);
  list.action((given: PrintOptions) =>
    print({ profiles: profileNames(here.env).map((name) => row(name, here)) }, { columns, creator: `${commandName} login <url>` }, given),
  );

  group
    .command('use')
    .description('commands go to this server and organization from now on')
    .argument('<name>', `of \`profile list\`; "${localName}" is the server of this machine`)
    .action((name: string) => {
      useProfile(here.env, name === localName ? undefined : namedProfile(here.env, name).name);
      console.error(
        name === localName ? 'commands go to the server of this machine' : `commands go to ${namedProfile(here.env, name).url}`,
      );
      if (here.env['QUARTERDECK_PROFILE'] || here.env['QUARTERDECK_URL'] || here.env['QUARTERDECK_TOKEN'])
        console.error('quarterdeck: QUARTERDECK_PROFILE, QUARTERDECK_URL and QUARTERDECK_TOKEN in the environment go before it');
    });

  const show = group.command('show').description('one login').argument('[name]', 'of `profile list`; default: the one in use');
  for (const option of shownOptions()) show.addOption(option);
  show.action((name: string | undefined, given: PrintOptions) => {
    const wanted = name ?? here.env['QUARTERDECK_PROFILE'] ?? currentName(here.env);
    const profile = namedProfile(here.env, wanted ?? usage(`no login is in use; \`${commandName} login <url>\` makes one`));
    print({ ...described(profile, here), tokenId: profile.tokenId, expiresAt: profile.expiresAt }, { columns: {} }, given);
  });

  group
    .command('remove')
    .description('remove a login here; `logout` also revokes its token')
    .argument('<name>', 'of `profile list`')
    .action((name: string) => remove(name, here));
}

/** A profile that cannot be used is listed with the reason. */
function row(name: string, here: CliContext) {
  try {
    const profile = readProfile(here.env, name);
    return profile ? described(profile, here) : { name };
  } catch (error) {
    if (error instanceof Failure) return { name, server: error.message };
    throw error;
  }
}

function described({ name, url, organization, user, expiresAt, token }: Profile, { env }: CliContext) {
  const { says } = expiryInWords(expiresAt, machineTime());
  const isInUse = name === currentName(env);
  return {
    name,
    use: isInUse ? 'in use' : '',
    server: url,
    organization,
    user,
    token: `${says}, in ${token === undefined ? 'the keyring' : 'a file'}`,
  };
}

/** Also one that is damaged, or open to others. */
async function remove(name: string, here: CliContext): Promise<void> {
  if (!profileNames(here.env).includes(name)) namedProfile(here.env, name);
  try {
    const profile = namedProfile(here.env, name);
    await forget(profile, here);
    sayToken(profile);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    removeProfile(here.env, name);
  }
  process.stdout.write(`${printable(`removed the profile ${name}`)}\n`);
}
