import { Agent, request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '../../test/harness/request.ts';

/** To a cluster's API, with a token or a certificate. */
export interface Way {
  server: string;
  ca: string;
  token?: string;
  cert?: string;
  key?: string;
}

const field = (text: string, name: string) => new RegExp(`^ *${name}: "?([^"\\n]+)"?$`, 'm').exec(text)![1]!;

/** From the POST until the cluster’s own API has answered with the configuration that it gave. */
export async function makeUsable(owner: Caller, name: string, more: Record<string, unknown> = {}): Promise<Way> {
  await makeReady(owner, name, more);
  return findWay(owner, name);
}

export async function makeReady(owner: Caller, name: string, more: Record<string, unknown> = {}, everyMs = 5): Promise<void> {
  const made = await owner.post('/clusters', { name, tier: 'small', ...more });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  while ((await owner.get(`/clusters/${name}`)).body.phase !== 'ready') await sleep(everyMs);
}

export async function findWay(owner: Caller, name: string): Promise<Way> {
  const { kubeconfig } = (await owner.get(`/clusters/${name}/kubeconfig`)).body;
  const ca = Buffer.from(field(kubeconfig, 'certificate-authority-data'), 'base64').toString();
  const way = { server: field(kubeconfig, 'server'), ca, token: field(kubeconfig, 'token') };
  const status = await ask(way, new Agent(), 'GET', '/api/v1/namespaces');
  if (status !== 200) throw new Error(`a new cluster answered ${status}`);
  return way;
}

export const ask = (way: Way, agent: Agent, method: string, path: string, body?: unknown): Promise<number> =>
  new Promise((resolve, reject) => {
    const text = body === undefined ? '' : JSON.stringify(body);
    const headers = {
      ...(way.token ? { authorization: `Bearer ${way.token}` } : {}),
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    };
    const asked = request(`${way.server}${path}`, { method, ca: way.ca, cert: way.cert, key: way.key, agent, headers }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode!));
    });
    asked.on('error', reject).end(text);
  });
