import type { Command as Commander } from 'commander';
import { ApiError } from '../../sdk/index.ts';
import { defined, rootOptions } from '../command.ts';
import { commandName } from '../command-name.ts';
import { type CliContext, type ConnectionOptions, call } from '../connect.ts';
import { exitCodes, Failure, usage } from '../exit.ts';
import { printable } from '../printable.ts';
import { namedProfile, tokenOf } from './choose.ts';
import { currentName, type Profile, removeProfile } from './folder.ts';
import { findKeyring } from './keyring.ts';

interface LogoutOptions extends ConnectionOptions {
  local?: boolean;
}

export function registerLogout(program: Commander, here: CliContext) {
  const command = program
    .command('logout')
    .description('end a login: its token is revoked at the server and removed here')
    .option('--profile <name>', 'which login; default: QUARTERDECK_PROFILE, then the one in use')
    .option('--local', 'only remove it here; the token goes on at the server');
  command.action(async (own: LogoutOptions) => {
    const { profile: wanted, local }: LogoutOptions = { ...rootOptions(command), ...defined(own) };
    const name = wanted ?? here.env['QUARTERDECK_PROFILE'] ?? currentName(here.env);
    const profile = namedProfile(here.env, name ?? usage(`no login is in use; \`${commandName} profile list\` shows those there are`));
    if (!local) await revoke(profile, here);
    await forget(profile, here);
    process.stdout.write(`${printable(`logged out of ${profile.url} (profile ${profile.name})`)}\n`);
    if (local) sayToken(profile);
  });
}

/** A token that is revoked already is no reason to keep it. */
async function revoke(profile: Profile, here: CliContext): Promise<void> {
  const { url, name, tokenId } = profile;
  const token = await tokenOf(here.env, profile);
  await call({ url, token, tokenFrom: `the profile ${name}` }, here, {}, (api) =>
    api.tokens.deleteToken(tokenId).catch((error: unknown) => {
      if (!(error instanceof ApiError) || ![401, 404].includes(error.status)) throw error;
    }),
  ).catch((error: unknown) => {
    if (!(error instanceof Failure)) throw error;
    throw new Failure(
      error.exitCode || exitCodes.unavailable,
      `${error.message}; you are still logged in. --local removes the login here alone`,
    );
  });
}

/** Removes a login from this machine. */
export async function forget({ name, url, token }: Profile, { env }: Pick<CliContext, 'env'>): Promise<void> {
  if (token === undefined) await findKeyring(env).forget({ profile: name, url });
  removeProfile(env, name);
}

/** What is still true of a login that was removed here alone. */
export function sayToken({ tokenId, expiresAt }: Profile): void {
  console.error(printable(`its token ${tokenId} goes on at the server until ${expiresAt}; revoke it there if others may have it`));
}
