import { type Command as Commander, Option } from 'commander';
import { quarterdeck } from '../../sdk/index.ts';
import { connectionOptions, defined, rootOptions } from '../command.ts';
import { type CliContext, type Connection, type ConnectionOptions, findConnection } from '../connect.ts';
import { printable } from '../printable.ts';
import { tell } from '../tell.ts';
import { isSameRelease } from './same-release.ts';

const timeoutMs = 5_000;

/** The release of this program and of the server. A server that does not answer is a remark, not a failure. */
export function registerVersion(program: Commander, here: CliContext) {
  const command = program.command('version').description('the release of this command line, and of the server that it talks to');
  for (const option of [new Option('--json', 'as JSON'), ...connectionOptions()]) command.addOption(option);
  command.action(async (given: ConnectionOptions & { json?: boolean }) => {
    const connection = await findConnection({ ...rootOptions(command), ...defined(given) }, here);
    const server = await serverVersion(connection, here).catch((error: Error) => error);
    const told = server instanceof Error ? undefined : server;
    if (given.json)
      return void process.stdout.write(
        `${JSON.stringify({ commandLine: here.version, server: told ?? null, url: connection.url }, null, 2)}\n`,
      );
    process.stdout.write(`command line  ${here.version}\nserver        ${told ?? 'unknown'}  ${connection.url}\n`);
    if (server instanceof Error) tell(`quarterdeck: ${server.message}; --url or QUARTERDECK_URL names another server`);
    else if (!isSameRelease(told ?? '', here.version))
      tell('quarterdeck: the releases differ: commands of the newer one may be missing in the other; update the older one');
  });
}

/** With a token by its own operation; without one from the beginning of the public OpenAPI document. */
async function serverVersion({ url, token }: Connection, { version }: CliContext): Promise<string> {
  const userAgent = `quarterdeck-cli/${version}`;
  if (token) {
    const api = quarterdeck({ url, token, userAgent, timeoutMs, retries: 0 });
    const told = await api.organization.getInstallation().catch(() => undefined);
    if (typeof told?.version === 'string') return printable(told.version).replaceAll(/\s+/g, ' ');
  }
  return publicVersion(url);
}

const maxBytes = 64 * 1024;

async function publicVersion(url: string): Promise<string> {
  const response = await fetch(`${url}/api/v1/openapi.json`, { signal: AbortSignal.timeout(timeoutMs), redirect: 'error' }).catch(
    (error: Error) => {
      throw new Error(`cannot reach ${url} (${(error.cause as { code?: string } | undefined)?.code ?? error.message})`);
    },
  );
  let text = '';
  for await (const piece of response.body ?? []) {
    text += Buffer.from(piece).toString('latin1');
    const found = /"version"\s*:\s*"([\w.+-]{1,50})"/.exec(text)?.[1];
    if (found) return found;
    if (text.length > maxBytes) break;
  }
  throw new Error(`what answers at ${url} does not tell its release`);
}
