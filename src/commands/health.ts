import http from 'node:http';
import https from 'node:https';
import type { Command } from 'commander';
import { tell } from '../../cli/tell.ts';
import { type Config, readConfig } from '../kernel/config.ts';
import { exitCodes, Stop } from '../kernel/errors.ts';
import { servesTls } from '../kernel/tls/serves-tls.ts';

const maxWaitMs = 5_000;

/** For a container engine, which asks every few seconds and has no curl. */
export function registerHealth(program: Command) {
  program
    .command('health')
    .description('ask the server that the settings here describe whether it is ready; exit code 0 if it is')
    .action(async () => {
      const { config } = readConfig(process.env, process.cwd());
      tell(await askReady(config.listen, servesTls(config)));
    });
}

/** What /readyz says. Throws a sentence if that is not yes. */
async function askReady({ host, port }: Config['listen'], isTls: boolean): Promise<string> {
  if (port === 0) throw new Stop(exitCodes.configuration, 'QUARTERDECK_LISTEN has port 0, so only the server knows its port; name one');
  const address = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host;
  // This machine asks itself, by an address that no certificate names.
  const request = (isTls ? https : http).get({ host: address, port, path: '/readyz', agent: false, rejectUnauthorized: false });
  const place = `${address}:${port}`;
  const fail = (why: string, cause?: unknown) => new Stop(exitCodes.refused, `the server at ${place} is not ready: ${why}`, { cause });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const timer = setTimeout(() => request.destroy(new Error(`it did not answer within ${maxWaitMs / 1_000} s`)), maxWaitMs);
  request.on('error', (error: NodeJS.ErrnoException) => reject(fail(error.code ?? error.message, error)));
  request.on('response', (response) => {
    response
      .setEncoding('utf8')
      .toArray()
      .then((parts) => {
        const text = parts.join('').slice(0, 1_000).trim();
        if (response.statusCode === 200) resolve(text);
        else reject(fail(`${response.statusCode} ${text}`));
      }, reject);
  });
  return promise.finally(() => clearTimeout(timer));
}
