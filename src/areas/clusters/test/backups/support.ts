import assert from 'node:assert/strict';
import { request as httpsRequest } from 'node:https';
import type { Quarterdeck } from '../../../../../test/harness/index.ts';
import { urlOf } from '../../../../../test/harness/postgres.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { adminHere } from '../../../../admin/test/support.ts';
import { kube, type Way } from '../support.ts';

export const maps = '/api/v1/namespaces/default/configmaps';
export const map = (name: string, data: Record<string, string> = { odd: 'tab\t line\n back\\\\ é' }) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data,
});

export const putMap = async (way: Way, name: string, data?: Record<string, string>) => {
  const made = await kube(way, 'POST', maps, map(name, data));
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return made.body;
};

export const namesIn = async (way: Way): Promise<string[]> =>
  (await kube(way, 'GET', maps)).body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name).sort();

/** The operator's commands about clusters, beside a running server. */
export const clustersOf =
  ({ connection, dataDir }: Pick<Quarterdeck, 'connection' | 'dataDir'>) =>
  (...args: string[]) =>
    adminHere(['clusters', ...args], { QUARTERDECK_DATABASE_URL: urlOf(connection), QUARTERDECK_DATA: dataDir });

export async function take(admin: ReturnType<typeof clustersOf>, cluster = 'prod'): Promise<string> {
  const taken = await admin('backups', 'take', cluster, '--json');
  assert.equal(taken.code, 0, taken.err);
  return JSON.parse(taken.out).backup;
}

/** What a watch tells first. */
export const firstEvent = (way: Way, path: string): Promise<{ type: string; object: { code?: number; metadata: { name: string } } }> =>
  new Promise((resolve, reject) => {
    const asked = httpsRequest(
      `${way.server}${path}`,
      { ca: way.ca, agent: false, headers: { authorization: `Bearer ${way.token}` } },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
          if (!text.includes('\n')) return;
          resolve(JSON.parse(text.slice(0, text.indexOf('\n'))));
          asked.destroy();
        });
        answer.on('error', () => {});
      },
    );
    asked.on('error', reject);
    asked.end();
  });

export const answers = (way: Way) =>
  eventually(async () => (await kube(way, 'GET', '/readyz').catch(() => undefined))?.status === 200, { withinMs: 60_000 });
