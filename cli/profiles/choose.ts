import { commandName } from '../command-name.ts';
import { exitCodes, Failure, usage } from '../exit.ts';
import { originOf } from '../origin.ts';
import { currentName, localName, type Profile, profileNames, readProfile } from './folder.ts';
import { findKeyring } from './keyring.ts';

/** The profile of a name that the user gave. */
export const namedProfile = (env: NodeJS.ProcessEnv, name: string): Profile =>
  readProfile(env, name) ?? usage(`there is no profile "${name}"; \`${commandName} profile list\` shows those there are`);

/**
 * The profile that names the server when neither a flag nor QUARTERDECK_URL does: QUARTERDECK_PROFILE, else the one in use. A token in the
 * environment outweighs the one in use: without QUARTERDECK_URL it is for the server of this machine.
 */
export function chosenProfile(env: NodeJS.ProcessEnv): Profile | undefined {
  const set = env['QUARTERDECK_PROFILE'];
  if (set) return set === localName ? undefined : namedProfile(env, set);
  const current = env['QUARTERDECK_TOKEN'] ? undefined : currentName(env);
  return current === undefined ? undefined : namedProfile(env, current); // one that is gone is no reason to act elsewhere
}

/** The profiles that are for a server, the one in use first. Those that cannot be read are left out. */
function profilesFor(env: NodeJS.ProcessEnv, url: string): Profile[] {
  const current = currentName(env);
  return profileNames(env)
    .flatMap((name) => {
      try {
        return readProfile(env, name) ?? [];
      } catch {
        return [];
      }
    })
    .filter((profile) => originOf(profile.url) === originOf(url))
    .sort((a, b) => Number(b.name === current) - Number(a.name === current));
}

/** The login for a server that was named by its URL. Of several, the one in use; else the user says which. */
export function profileFor(env: NodeJS.ProcessEnv, url: string): { profile?: Profile; withheld?: string } {
  const all = profilesFor(env, url);
  const [first] = all;
  if (!first) return {};
  if (all.length === 1 || first.name === currentName(env)) return { profile: first };
  return { withheld: `several profiles are for this server; name one with --profile: ${all.map(({ name }) => name).join(', ')}` };
}

export async function tokenOf(env: NodeJS.ProcessEnv, { name, url, token }: Profile): Promise<string> {
  const found = token ?? (await findKeyring(env).find({ profile: name, url }));
  if (found) return found;
  throw new Failure(
    exitCodes.unauthenticated,
    `the keyring does not give the token of the profile ${name}; unlock it, or get another: ${loginAgain({ name })}`,
  );
}

/** The command that renews a login. */
export const loginAgain = ({ name }: Pick<Profile, 'name'>) => `\`${commandName} login --profile ${name}\``;
