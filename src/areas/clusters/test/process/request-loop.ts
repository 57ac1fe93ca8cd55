import https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Way } from '../support.ts';

export const maps = '/api/v1/namespaces/default/configmaps';

export interface Failure {
  what: string;
  how: string;
  at: number;
}

/** Questions and writes over connections that are kept, each counted by what came of it; none is tried again. */
export function askOften(way: Way, prefix: string, workerCount: number) {
  const agent = new https.Agent({ keepAlive: true, ca: way.ca });
  const failures: Failure[] = [];
  const seen = { sent: 0, slowestMs: 0 };
  let isOver = false;
  const ask = (method: string, path: string, body?: unknown) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const headers = { authorization: `Bearer ${way.token}`, 'content-type': 'application/json' };
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
  const one = async (n: number) => {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `${prefix}-${n}` }, data: { n: `${n}` } };
    const [what, wanted, asking] =
      n % 4 === 0
        ? (['POST', 201, () => ask('POST', maps, object)] as const)
        : n % 4 === 1
          ? (['LIST', 200, () => ask('GET', `${maps}?limit=50`)] as const)
          : (['GET', 200, () => ask('GET', `${maps}/seed`)] as const);
    const began = performance.now();
    const how = await asking().then(
      ({ status, text }) => (status === wanted ? undefined : `status ${status}: ${text.slice(0, 500)}`),
      (error: NodeJS.ErrnoException) => error.code ?? error.message,
    );
    const at = performance.now();
    seen.slowestMs = Math.max(seen.slowestMs, at - began);
    if (how !== undefined) failures.push({ what, how, at });
  };
  const workers = Array.from({ length: workerCount }, async () => {
    while (!isOver) {
      await one(seen.sent++);
      await sleep(10);
    }
  });
  return {
    seen,
    failures,
    async stop() {
      isOver = true;
      await Promise.all(workers);
      agent.destroy();
    },
  };
}
