import net, { type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import tls, { type ConnectionOptions } from 'node:tls';
import type { KineAnswer, KineRequest, KineRow } from './kine.ts';

/** A fake apiserver's way to the fake kine or etcd; it comes back by itself when that does. */
export interface Store {
  ask(request: Omit<KineRequest, 'id'>): Promise<KineAnswer>;
  /** `onEnd`: kine went away, and who watches must begin anew. */
  watch(prefix: string, from: number, onRows: (rows: KineRow[]) => void, onEnd: (isCompacted: boolean) => void): () => void;
}

const answerMs = 3_000;

export function openStore(address: string | ConnectionOptions): Store {
  let socket: Socket | undefined;
  let last = 0;
  const waiting = new Map<number, (answer: KineAnswer) => void>();
  const watching = new Map<number, { onRows(rows: KineRow[]): void; onEnd(isCompacted: boolean): void }>();

  const connect = () => {
    const made = typeof address === 'string' ? net.connect(address) : tls.connect(address);
    made.on(typeof address === 'string' ? 'connect' : 'secureConnect', () => {
      socket = made;
    });
    createInterface({ input: made })
      .on('line', (line) => {
        const answer = JSON.parse(line) as KineAnswer;
        if (answer.error) watching.get(answer.id)?.onEnd(true);
        else watching.get(answer.id)?.onRows(answer.rows ?? []);
        waiting.get(answer.id)?.(answer);
      })
      .on('error', () => {});
    made.on('error', () => {});
    made.on('close', () => {
      socket = undefined;
      for (const [id, done] of waiting) done({ id, error: 'etcdserver: request timed out' });
      const ended = [...watching.values()];
      watching.clear();
      for (const { onEnd } of ended) onEnd(false);
      setTimeout(connect, 100);
    });
  };
  connect();

  const send = (request: KineRequest) => socket?.write(`${JSON.stringify(request)}\n`);
  return {
    async ask(request) {
      for (let waited = 0; !socket && waited < answerMs; waited += 50) await sleep(50);
      const id = ++last;
      if (!socket) throw new Error('etcdserver: request timed out');
      const answer = await new Promise<KineAnswer>((resolve) => {
        waiting.set(id, resolve);
        send({ id, ...request });
      }).finally(() => waiting.delete(id));
      if (answer.error) throw new Error(answer.error);
      return answer;
    },
    watch(prefix, from, onRows, onEnd) {
      const id = ++last;
      watching.set(id, { onRows, onEnd });
      if (!socket) setImmediate(onEnd, false);
      else send({ id, op: 'watch', key: prefix, from });
      return () => {
        watching.delete(id);
        send({ id, op: 'unwatch' });
      };
    },
  };
}
