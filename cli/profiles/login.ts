import { hostname } from 'node:os';
import type { Command as Commander } from 'commander';
import { quarterdeck } from '../../sdk/index.ts';
import { defined, rootOptions } from '../command.ts';
import { commandName } from '../command-name.ts';
import { type CliContext, type ConnectionOptions, call, findServer } from '../connect.ts';
import { exitCodes, Failure, usage } from '../exit.ts';
import { untilInterrupted } from '../interrupt.ts';
import { isOverheard, originOf } from '../origin.ts';
import { machineTime } from '../output/look.ts';
import { printable } from '../printable.ts';
import { clearStatus } from '../status-line.ts';
import { openBrowser } from '../where/open.ts';
import { tokenOf } from './choose.ts';
import { askForCodes, type Granted, waitForToken } from './device-login.ts';
import { expiryInWords } from './expiry.ts';
import { localName, type Profile, readProfile, requireName, useProfile, writeProfile } from './folder.ts';
import { findKeyring } from './keyring.ts';

interface LoginOptions extends ConnectionOptions {
  keyring: boolean;
  browser: boolean;
}

export function registerLogin(program: Commander, here: CliContext) {
  const command = program
    .command('login')
    .description('log in with the browser; the token is kept in the keyring, or in a file of yours')
    .argument('[url]', 'the server; default: that of the profile, QUARTERDECK_URL, or this machine')
    .option('--profile <name>', 'the name of this login; default: the host of the server')
    .option('--no-keyring', 'keep the token in a file that only you can read')
    .option('--no-browser', 'only print the address');
  command.action(async (given: string | undefined, own: LoginOptions) => {
    const options = { ...rootOptions(command), ...defined(own) } as LoginOptions;
    if (options.token) usage('login gets a token of its own; leave out --token');
    const { url, name } = await placeOf(given, options, here);
    const before = readProfile(here.env, name);
    if (before && originOf(before.url) !== originOf(url))
      usage(`the profile ${name} is for ${before.url}; choose another name with --profile, or \`${commandName} profile remove ${name}\``);
    const granted = await askPerson(url, here, options);
    const oldToken = before && (await tokenOf(here.env, before).catch(() => undefined));
    const { profile, from } = await keep(granted, { ...options, name, url }, here);
    if (before) await endBefore(before, oldToken, profile, here);
    sayWho(profile, from);
  });
}

/** A new profile has no server yet; the address may be an argument as well as an option. */
async function placeOf(given: string | undefined, options: ConnectionOptions, here: CliContext): Promise<{ url: string; name: string }> {
  const { profile: wanted } = options;
  if (wanted !== undefined) requireName(wanted);
  const known = wanted === undefined ? undefined : readProfile(here.env, wanted);
  const { profile: _, ...rest } = options;
  const { url } = await findServer({ ...rest, ...defined({ url: given ?? options.url ?? known?.url }) }, here);
  if (isOverheard(url)) usage(`a token from ${url} could be read by everybody on the way; log in with https`);
  const name = wanted ?? nameOf(new URL(url).host);
  if (name === localName) usage(`"${localName}" is the server of this machine and its owner; choose another name with --profile`);
  return { url, name: requireName(name.slice(0, 63)) };
}

/** A host as the name of a profile: `[::1]:8080` is `1-8080`. */
const nameOf = (host: string): string =>
  host
    .split(/[^A-Za-z0-9.]/)
    .filter(Boolean)
    .join('-');

/** Ends when the person has answered in the browser. */
async function askPerson(url: string, here: CliContext, { browser }: LoginOptions): Promise<Granted> {
  try {
    return await untilInterrupted('nothing was changed; the code ends by itself', (signal) =>
      call({ url, token: undefined, tokenFrom: 'none' }, here, { open: true }, async (api) => {
        const codes = await askForCodes(api, url, `quarterdeck ${here.version} on ${hostname()}`);
        console.error(`Open  ${printable(codes.page)}\nType  ${codes.userCode}\n`);
        if (browser && process.stderr.isTTY) openBrowser(codes.page, here.env);
        return waitForToken(api, codes, signal);
      }),
    );
  } finally {
    clearStatus();
  }
}

/** In the keyring where one works, else in the file. It is the profile in use from now on. */
async function keep(granted: Granted, { name, url, keyring }: LoginOptions & { name: string; url: string }, here: CliContext) {
  const { key, orgSlug, tokenId, expiresAt } = granted as unknown as Record<string, unknown>;
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,500}$/.test(key))
    throw new Failure(exitCodes.unavailable, `${url} gave no token that can be sent`);
  const isInKeyring = keyring && (await findKeyring(here.env).keep({ profile: name, url }, key));
  const user = await askName(url, key, here);
  const profile: Profile = {
    name,
    url,
    organization: String(orgSlug),
    user,
    tokenId: String(tokenId),
    expiresAt: String(expiresAt),
    ...(isInKeyring ? {} : { token: key }),
  };
  const file = writeProfile(here.env, profile);
  useProfile(here.env, name);
  return { profile, from: isInKeyring ? 'the keyring' : file };
}

const timeoutMs = 5_000;

const apiOf = (url: string, token: string, here: CliContext) =>
  quarterdeck({ url, token, timeoutMs, retries: 0, userAgent: `quarterdeck-cli/${here.version}` });

/** The person who approved, whose token it is. A server that does not tell ends no login. */
const askName = (url: string, token: string, here: CliContext): Promise<string> =>
  apiOf(url, token, here)
    .organization.getMe()
    .then(({ email }) => String(email).slice(0, 254))
    .catch(() => 'unknown');

/** Nothing uses the token of the login before any more. */
async function endBefore(before: Profile, token: string | undefined, now: Profile, here: CliContext): Promise<void> {
  if (before.token === undefined && now.token !== undefined) await findKeyring(here.env).forget({ profile: before.name, url: before.url });
  if (token === undefined || before.tokenId === now.tokenId) return;
  await apiOf(before.url, token, here)
    .tokens.deleteToken(before.tokenId)
    .catch(() => undefined);
}

function sayWho({ name, url, user, organization, expiresAt }: Profile, from: string): void {
  const { says } = expiryInWords(expiresAt, machineTime());
  process.stdout.write(
    `${printable(`logged in as ${user} in ${organization} at ${url}`)}\nprofile ${name}; the token ${says} and is in ${from}\n`,
  );
  console.error(`next: ${commandName} status`);
}
