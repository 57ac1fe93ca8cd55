import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { runFor } from '../../../../kernel/fairness/index.ts';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import { readAsked } from '../../rules/kubernetes/path.ts';
import { statusOf } from '../../rules/kubernetes/status.ts';
import { type HeartbeatRow, listHeartbeatRows } from '../../store/heartbeats.ts';
import { removeSpace } from '../../store/objects.ts';
import type { Call, Reply } from './call.ts';
import { callerInside } from './caller.ts';
import type { Cluster, EmbeddedIdentity, EmbeddedOptions } from './cluster.ts';
import { dispatch } from './dispatch.ts';
import { makeFollower } from './follow.ts';
import { prepareCluster } from './prepare.ts';
import { sayFull } from './room.ts';
import { makeSweeper } from './sweep.ts';
import { readAtOnce } from './unread.ts';
import { type Serving, serveRequest, translate } from './wire/serve.ts';

export type { Access, EmbeddedIdentity, EmbeddedOptions } from './cluster.ts';

// A Kubernetes API that needs nothing but our database: docs/areas/clusters-embedded.md says what it serves and what it refuses.

export interface EmbeddedCluster {
  /** One HTTP request on the cluster's listener; also long watches. Never throws. */
  serve(request: IncomingMessage, response: ServerResponse, identity: EmbeddedIdentity | undefined): void;
  /** Asks without a socket, as a member of system:masters. */
  // biome-ignore lint/suspicious/noExplicitAny: an object of whatever kind was asked for
  ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: any }>;
  /** Watches in process: first everything that is there, then what changes; begins again by itself when it is cut, so an event may come twice.
   *  Each is told in a turn of its own. Ends when the returned function is called. */
  // biome-ignore lint/suspicious/noExplicitAny: an object of whatever kind was asked for
  watch(path: string, onEvent: (event: { type: string; object: any }) => void): () => void;
  /** A sentence, if nothing more of its users' fits in. */
  fullness(): string | undefined;
  /** Signs of life of its nodes, without reading the nodes themselves. */
  heartbeats(): Promise<HeartbeatRow[]>;
  /** The peak is that since they were last asked for. */
  figures(): { requests: number; errors: number; inflightPeak: number; objects: number; bytes: number };
  stop(): Promise<void>;
}

export function openEmbedded(app: App, options: EmbeddedOptions): EmbeddedCluster {
  const cluster: Cluster = {
    ...{ app, options, id: options.clusterId, org: options.org, channel: `clusters.objects:${options.clusterId}` },
    ...{
      rbac: undefined,
      rbacReading: undefined,
      rbacObjects: new Map(),
      underway: 0,
      watches: 0,
      endings: new Map(),
      writing: Promise.resolve(),
      sweep: () => {},
      isStopped: false,
    },
    figures: { requests: 0, errors: 0, inflightPeak: 0, objects: 0, bytes: 0 },
  };
  const follower = makeFollower(cluster);
  const sweeper = makeSweeper(cluster);
  cluster.sweep = sweeper.kick;
  const stopping = new AbortController();
  const serving: Serving = { cluster, ready: makeReady(cluster), dispatch: (call) => dispatch(cluster, follower, call) };
  serving.ready().then(sweeper.kick, () => {}); // each request asks again

  return {
    serve: (request, response, identity) => {
      if (stopping.signal.aborted) return void response.destroy();
      const cut = () => response.destroy();
      stopping.signal.addEventListener('abort', cut, { once: true });
      response.once(
        'close',
        guarded('clusters.embedded.close', response, () => stopping.signal.removeEventListener('abort', cut)),
      );
      serveRequest(serving, request, response, identity);
    },
    ask: (method, path, body) => runFor({ org: cluster.org, operation: 'kubernetes' }, () => askInside(serving, method, path, body)),
    watch: (path, onEvent) => {
      const own = new AbortController();
      const signal = AbortSignal.any([own.signal, stopping.signal]);
      void runFor({ org: cluster.org, operation: 'kubernetes watch' }, () => keepWatching(serving, path, onEvent, signal));
      return () => own.abort();
    },
    fullness: () => sayFull(cluster),
    heartbeats: () => runFor({ org: cluster.org, operation: 'kubernetes' }, () => app.db.read((tx) => listHeartbeatRows(tx, cluster.id))),
    figures: () => {
      const told = { ...cluster.figures };
      cluster.figures.inflightPeak = cluster.underway;
      return told;
    },
    stop: async () => {
      cluster.isStopped = true;
      stopping.abort();
      follower.stop();
      await sweeper.stop();
    },
  };
}

/** Everything of a cluster that is torn down. */
export const removeObjects = (tx: Tx, clusterId: string): Promise<void> => removeSpace(tx, clusterId);

/** Prepares the cluster once; while that fails, whoever asks tries again. */
function makeReady(cluster: Cluster): () => Promise<void> {
  let preparing: Promise<void> | undefined;
  return () => {
    preparing ??= runFor({ org: cluster.org, operation: 'kubernetes' }, () => prepareCluster(cluster)).catch((error) => {
      preparing = undefined;
      throw error;
    });
    return preparing;
  };
}

const patchType = 'application/merge-patch+json';

const callInside = (method: string, path: string, body: unknown, signal: AbortSignal): Call => ({
  asked: readAsked(method, path),
  caller: callerInside,
  ...{ body, signal, unread: readAtOnce, contentType: method === 'PATCH' ? patchType : 'application/json', accept: '' },
  show: { as: 'object', rowObject: 'None' },
});

/** A PATCH is a merge patch, or a JSON patch if it is a list. */
async function askInside(serving: Serving, method: string, path: string, body: unknown): Promise<{ status: number; body: unknown }> {
  try {
    await serving.ready();
    const copy = body === undefined ? undefined : JSON.parse(JSON.stringify(body));
    const call = callInside(method, path, copy, new AbortController().signal);
    if (Array.isArray(body)) call.contentType = 'application/json-patch+json';
    return await collect(await serving.dispatch(call));
  } catch (error) {
    const status = statusOf(translate(serving.cluster, error));
    return { status: status.code, body: status };
  }
}

async function collect(reply: Reply): Promise<{ status: number; body: unknown }> {
  if (!('pieces' in reply)) {
    const isJson = typeof reply.body === 'string' && reply.body.startsWith('{');
    return { status: reply.status, body: isJson ? JSON.parse(reply.body as string) : JSON.parse(JSON.stringify(reply.body)) };
  }
  let text = '';
  for await (const piece of reply.pieces) text += piece;
  return { status: 200, body: JSON.parse(text) };
}

const restMs = 1_000;

async function keepWatching(
  serving: Serving,
  path: string,
  onEvent: (event: { type: string; object: unknown }) => void,
  signal: AbortSignal,
): Promise<void> {
  const question = `${path}${path.includes('?') ? '&' : '?'}watch=1`;
  while (!signal.aborted) {
    try {
      await serving.ready();
      const reply = await serving.dispatch(callInside('GET', question, undefined, signal));
      if ('pieces' in reply) await tellEach(serving.cluster, reply.pieces, onEvent, signal);
    } catch (error) {
      serving.cluster.app.log.debug({ err: error, cluster: serving.cluster.id, path }, 'a watch ended; it begins again');
    }
    await setTimeout(restMs, undefined, { signal, ref: false }).catch(() => {});
  }
}

async function tellEach(
  cluster: Cluster,
  pieces: AsyncIterable<string>,
  onEvent: (event: { type: string; object: unknown }) => void,
  signal: AbortSignal,
): Promise<void> {
  for await (const piece of pieces)
    for (const line of piece.split('\n')) {
      if (line === '' || signal.aborted) continue;
      const event = JSON.parse(line) as { type: string; object: unknown };
      if (event.type === 'ERROR') return;
      try {
        onEvent(event);
      } catch (error) {
        cluster.app.log.error({ err: error, cluster: cluster.id }, 'whoever watches an embedded cluster failed at an event');
      }
    }
}
