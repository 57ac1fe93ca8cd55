// What B does, again and again, and how long each of it takes.
import { randomUUID } from 'node:crypto';
import { Agent, request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { shows } from '../../../src/areas/status/test/support.ts';
import { watchCalm } from '../../harness/calm.ts';
import { caller } from '../../harness/request.ts';
import { busy, delivery, pushBlob, type Scene } from './scene.ts';
import { beGreeted } from './smtp.ts';

export interface Measured {
  /** Milliseconds, by act. */
  times: Record<string, number[]>;
  failures: string[];
  /** What part of the time the machine was all ours: times are of that part alone. */
  calm: number;
}

/** So much longer it takes where the machine's host has others to serve. */
const mostPatience = 3;

/**
 * Works for so long, not counting when the machine was not all ours: the acts beside each other, each once more as soon as it is done and has
 * rested.
 */
export async function work(scene: Scene, seconds: number): Promise<Measured> {
  const failures: string[] = [];
  const calm = watchCalm();
  const from = performance.now();
  const isOver = () => calm.since(from) >= seconds * 1000 || performance.now() - from >= mostPatience * seconds * 1000;
  const spans = await Promise.all(
    Object.entries(acts).map(async ([name, { act, restMs }]) => {
      const own: { began: number; ended: number }[] = [];
      while (!isOver()) {
        const began = performance.now();
        try {
          const tidy = await act(scene);
          own.push({ began, ended: performance.now() });
          if (typeof tidy === 'function') await tidy();
        } catch (error) {
          failures.push(`${name}: ${error instanceof Error ? error.message : error}`);
        }
        await sleep(restMs);
      }
      return [name, own] as const;
    }),
  );
  const until = performance.now();
  await sleep(watchedMs); // what happened last is known only then
  calm.stop();
  const times = Object.fromEntries(
    spans.map(([name, own]) => [name, own.filter((s) => calm.during(s.began - workedOffMs, s.ended)).map((s) => s.ended - s.began)]),
  );
  const isCalmAt = (at: number) => calm.during(at - 5 * workedOffMs, at);
  times['be probed'] = [...scene.checked.values()].flatMap((checks) => latenesses(checks, from, until, isCalmAt));
  return { times, failures, calm: calm.since(from) / (performance.now() - from) };
}

const watchedMs = 400;
/** By then what piled up while the machine was not ours is worked off; of checks, which are spaced, it takes five times as long. */
const workedOffMs = 500;

/** By how much the time between two checks of one monitor was another than its interval; the first is whenever it is. */
function latenesses(checks: readonly number[], from: number, until: number, isCalmAt: (at: number) => boolean): number[] {
  return checks.flatMap((at, i) => {
    const last = checks[i - 1];
    if (i < 2 || at <= from || at > until || !isCalmAt(at) || !isCalmAt(last!)) return [];
    return [Math.abs(at - last! - busy.intervalSeconds * 1000)];
  });
}

interface Act {
  restMs: number;
  act(scene: Scene): Promise<unknown>;
}

const good = async (answer: Promise<Response>): Promise<ArrayBuffer> => {
  const { status, ...given } = await answer.then(async (a) => ({ status: a.status, bytes: await a.arrayBuffer() }));
  if (status >= 300) throw new Error(`${status} ${Buffer.from(given.bytes).toString().slice(0, 200)}`);
  return given.bytes;
};

async function arrived({ smtp }: Scene, to: string, name: string): Promise<void> {
  const end = performance.now() + 20_000;
  // A long word may be folded.
  while (!smtp.received.some((mail) => mail.to.includes(to) && mail.data.replaceAll('=\r\n', '').includes(name))) {
    if (performance.now() > end) throw new Error('no page within 20 s');
    await sleep(5);
  }
}

let turn = 0;

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/** On a connection that is kept, as kubectl and controllers do. */
const askCluster = ({ server, ca, token }: Scene['cluster']): Promise<void> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    httpsRequest(`${server}/api/v1/namespaces`, { ca, agent, headers }, (answer) =>
      answer
        .resume()
        .once('end', () => (answer.statusCode === 200 ? resolve() : reject(new Error(`the cluster answered ${answer.statusCode}`)))),
    )
      .once('error', reject)
      .end();
  });

const acts: Record<string, Act> = {
  page: {
    restMs: 150,
    act: async (scene) => {
      const { url, b } = scene;
      const name = randomUUID();
      // A person gets thirty pages a minute, so they take turns.
      const { email, sourceId, sourceToken } = b.paged[turn++ % b.paged.length]!;
      const deliver = (status: 'firing' | 'resolved') =>
        caller(url, sourceToken).post(`/oncall/alert-sources/${sourceId}/alerts`, delivery([name], status));
      const { status } = await deliver('firing');
      if (status !== 200) throw new Error(`an alert was answered ${status}`);
      await arrived(scene, email, name);
      return () => deliver('resolved'); // the next one opens an incident of its own
    },
  },
  push: { restMs: 150, act: ({ url, b }) => pushBlob(url, b.authorization, b.slug, Buffer.from(randomUUID().repeat(50))) },
  pull: {
    restMs: 100,
    act: async ({ url, b }) => {
      const headers = { authorization: b.authorization };
      await good(fetch(`${url}/v2/${b.slug}/app/manifests/v1`, { headers }));
      await good(fetch(`${url}/v2/${b.slug}/app/blobs/${b.layer}`, { headers: { ...headers, range: 'bytes=0-65535' } }));
    },
  },
  list: {
    restMs: 150,
    act: ({ url, b }) => good(fetch(`${url}/api/v1/oncall/incidents`, { headers: { authorization: `Bearer ${b.otherKey}` } })),
  },
  'come with mail': { restMs: 150, act: ({ a }) => beGreeted(a.doors) },
  'ask its cluster': { restMs: 100, act: ({ cluster }) => askCluster(cluster) },
  publish: {
    restMs: 250,
    act: async ({ url, b }) => {
      const words = randomUUID();
      const { post } = caller(url, b.key);
      const { body } = await post('/oncall/incidents', { serviceId: b.serviceId, title: words });
      const { status } = await post(`/oncall/incidents/${body.id}/updates`, { body: words });
      if (status !== 201) throw new Error(`an update was answered ${status} ${JSON.stringify(body)}`);
      await shows(url, b.slug, (text) => text.includes(words));
    },
  },
};
