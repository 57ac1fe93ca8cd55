import assert from 'node:assert/strict';
import https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Way } from '../../../src/areas/clusters/test/support.ts';

const maps = '/api/v1/namespaces/default/configmaps';

export interface Failed {
  method: string;
  how: string;
  /** When it was sent, and when it failed. */
  sentAt: number;
  at: number;
}

/** Requests at a steady rate, whatever becomes of them: creations, changes, reads and lists. What was acknowledged is remembered. */
export function steadyLoad(way: Way, prefix: string, perSecond = 50) {
  const agent = new https.Agent({ keepAlive: true, ca: way.ca, maxSockets: 200 });
  const failures: Failed[] = [];
  const acknowledged = new Map<string, string>();
  const figures = { sent: 0, slowestMs: 0 };
  const pending = new Set<Promise<void>>();
  let isOver = false;
  const ask = (method: string, path: string, body?: unknown) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const headers = { authorization: `Bearer ${way.token}`, 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' };
      const request = https.request(`${way.server}${path}`, { method, agent, headers }, (answer) => {
        let text = '';
        answer
          .setEncoding('utf8')
          .on('data', (piece) => (text += piece))
          .on('error', reject)
          .once('end', () => resolve({ status: answer.statusCode!, text }))
          .once('close', () => reject(new Error('the answer was cut off')));
      });
      request.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
    });
  const mapOf = (name: string, n: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { n } });
  const send = async (n: number) => {
    const name = `${prefix}-${n - (n % 4)}`;
    const kinds = [
      { method: 'POST', wanted: 201, act: () => ask('POST', maps, mapOf(name, 'made')), leaves: 'made' },
      { method: 'GET', wanted: 200, act: () => ask('GET', `${maps}/seed`), leaves: undefined },
      { method: 'PATCH', wanted: 200, act: () => ask('PATCH', `${maps}/seed`, { data: { [`n${n % 20}`]: `${n}` } }), leaves: undefined },
      { method: 'LIST', wanted: 200, act: () => ask('GET', `${maps}?limit=20`), leaves: undefined },
    ];
    const { method, wanted, act, leaves } = kinds[n % 4]!;
    const sentAt = performance.now();
    const how = await act().then(
      ({ status, text }) => (status === wanted ? undefined : `${status} ${text.slice(0, 300)}`),
      (error: NodeJS.ErrnoException) => error.code ?? error.message,
    );
    const at = performance.now();
    figures.slowestMs = Math.max(figures.slowestMs, at - sentAt);
    if (how !== undefined) failures.push({ method, how, sentAt, at });
    else if (leaves !== undefined) acknowledged.set(name, leaves);
  };
  const loop = (async () => {
    const began = performance.now();
    while (!isOver) {
      const work: Promise<void> = send(figures.sent++).finally(() => pending.delete(work));
      pending.add(work);
      await sleep(Math.max(0, began + (figures.sent * 1000) / perSecond - performance.now()));
    }
  })();
  return {
    figures,
    failures,
    acknowledged,
    /** Runs on for this long. */
    go: (ms: number) => sleep(ms),
    async stop() {
      isOver = true;
      await loop;
      await Promise.all(pending);
      agent.destroy();
    },
  };
}

/** Everything that was acknowledged is in the cluster. */
export async function assertNothingLost(list: () => Promise<{ metadata: { name: string }; data?: Record<string, string> }[]>, acknowledged: ReadonlyMap<string, string>) {
  const found = new Map((await list()).map(({ metadata, data }) => [metadata.name, data?.n]));
  const lost = [...acknowledged].filter(([name, value]) => found.get(name) !== value).map(([name]) => name);
  assert.deepEqual(lost, [], `of ${acknowledged.size} acknowledged writes`);
}
