// A's own cluster, with objects as large as they may be, changed by requests of a few bytes.
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack, Target } from './attacks.ts';

interface Way {
  server: string;
  token: string;
  agent: Agent;
}

const field = (text: string, name: string) => new RegExp(`^ *${name}: "?([^"\\n]+)"?$`, 'm').exec(text)?.[1] ?? '';

async function openCluster({ url, a }: Target): Promise<Way> {
  const headers = { authorization: `Bearer ${a.key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ name: 'large', tier: 'small' });
  await (await fetch(`${url}/api/v1/clusters`, { method: 'POST', headers, body })).arrayBuffer();
  for (;;) {
    const answer = await fetch(`${url}/api/v1/clusters/large/kubeconfig`, { headers });
    const { kubeconfig } = (await answer.json()) as { kubeconfig?: string };
    if (kubeconfig)
      return {
        server: field(kubeconfig, 'server'),
        token: field(kubeconfig, 'token'),
        agent: new Agent({ keepAlive: true, ca: Buffer.from(field(kubeconfig, 'certificate-authority-data'), 'base64').toString() }),
      };
    await sleep(200);
  }
}

const ask = ({ server, token, agent }: Way, method: string, path: string, body: unknown, type = 'application/json') =>
  new Promise<number>((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': type };
    const asked = request(`${server}${path}`, { method, agent, headers }, (answer) => {
      answer
        .resume()
        .on('end', () => resolve(answer.statusCode!))
        .on('error', reject);
    });
    asked.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
  });

let opened: Promise<Way> | undefined;
const maps = '/api/v1/namespaces/default/configmaps';
const many = Object.fromEntries(Array.from({ length: 9_000 }, (_, n) => [`k${n}`, 'x'.repeat(50)]));
const images = Array.from({ length: 4_000 }, (_, n) => ({ names: [`image-${n}-${'x'.repeat(200)}`] }));

/** Many keys, patched by few bytes; large nodes, which the house itself looks at; a role that changes, so that all are read again. */
export const largeObjects: Attack = async (target) => {
  opened ??= openCluster(target);
  const way = await opened;
  const name = randomUUID();
  await ask(way, 'POST', maps, { metadata: { name: 'many' }, data: many });
  await ask(way, 'POST', '/api/v1/nodes', { metadata: { name: `n-${name}` }, status: { images } });
  await ask(way, 'POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', { metadata: { name }, rules: [] });
  for (let n = 0; n < 20; n++) await ask(way, 'PATCH', `${maps}/many`, { data: { k1: randomUUID() } }, 'application/merge-patch+json');
  await ask(way, 'GET', '/api/v1/nodes', undefined);
  await ask(way, 'DELETE', `/apis/rbac.authorization.k8s.io/v1/clusterroles/${name}`, undefined);
};
