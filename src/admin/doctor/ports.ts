import http from 'node:http';
import https from 'node:https';
import { GrowingBuffer } from '../../kernel/buffers/growing-buffer.ts';
import type { Config } from '../../kernel/config.ts';
import { tryBind } from '../../kernel/lifecycle/try-bind.ts';
import { servesTls } from '../../kernel/tls/index.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

interface Address {
  host: string;
  port: number;
}

/** Free, or held by a Quarterdeck that answers there. */
export async function checkPorts(config: Config): Promise<Finding[]> {
  const found = [await checkPort('QUARTERDECK_LISTEN', config.listen, servesTls(config), '/healthz')];
  if (config.http_listen) found.push(await checkListenAddress('QUARTERDECK_HTTP_LISTEN', config.http_listen));
  if (config.metrics_listen) found.push(await checkPort('QUARTERDECK_METRICS_LISTEN', config.metrics_listen, false, '/metrics'));
  for (const [setting, at] of [
    ['QUARTERDECK_SMTP_SUBMISSION', config.smtp_submission],
    ['QUARTERDECK_SMTPS', config.smtps],
    ['QUARTERDECK_SMTP_INBOUND', config.smtp_inbound],
    ['QUARTERDECK_CLUSTER_LISTEN', config.cluster_listen],
  ] as const)
    found.push(await checkListenAddress(setting, at));
  return found;
}

/** Free, or held by somebody. */
async function checkListenAddress(setting: string, at: Address): Promise<Finding> {
  const where = `${at.host}:${at.port} (${setting})`;
  if (at.port === 0) return ok('ports', `${setting} lets the system choose a port`);
  const code = await tryBind(at);
  if (code === undefined) return ok('ports', `${where} is free`);
  if (code === 'EADDRINUSE') return ok('ports', `a program listens at ${where}`);
  return fail('ports', `${where} cannot be listened on (${code}); set ${setting} to another address or port`);
}

async function checkPort(setting: string, at: Address, tls: boolean, path: string): Promise<Finding> {
  const where = `${at.host}:${at.port} (${setting})`;
  if (at.port === 0) return ok('ports', `${setting} lets the system choose a port`);
  const code = await tryBind(at);
  if (code === undefined) return ok('ports', `${where} is free`);
  if (code !== 'EADDRINUSE') return fail('ports', `${where} cannot be listened on (${code}); set ${setting} to another address or port`);
  if (await answers(at, tls, path)) return ok('ports', `Quarterdeck answers at ${where}`);
  return warn('ports', `${where} is taken by a program that does not answer as Quarterdeck; stop it, or set ${setting} to another port`);
}

/** Enough of an answer to know whose it is. */
const maxAnswerBytes = 100_000;

/** Our own address, whose certificate is judged elsewhere and may name another host. */
const answers = ({ host, port }: Address, tls: boolean, path: string) =>
  new Promise<boolean>((resolve) => {
    const own = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
    const client = tls ? https : http;
    const request = client.get({ host: own, port, path, timeout: 2_000, ...(tls ? { rejectUnauthorized: false } : {}) }, (response) => {
      const answer = new GrowingBuffer(maxAnswerBytes);
      response.on('data', (chunk: Buffer) => answer.add(chunk.subarray(0, maxAnswerBytes - answer.length)));
      response.on('end', () => {
        const bytes = answer.bytes();
        resolve(path === '/healthz' ? bytes.toString() === 'ok\n' : bytes.includes('quarterdeck_'));
      });
      response.on('error', () => resolve(false));
    });
    request.on('timeout', () => request.destroy()).on('error', () => resolve(false));
  });
