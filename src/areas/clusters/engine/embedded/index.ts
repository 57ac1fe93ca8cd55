/**
 * The embedded Kubernetes API: a control plane in this process whose objects are rows of the database. It runs no pods.
 * docs/areas/clusters-embedded.md lists what it serves, what it refuses, and its limits.
 *
 * Actors. Clients (kubectl, kubelets) reach `serve` through the cluster's listener. Quarterdeck itself uses `ask` and `watch`, as a member of
 * system:masters. The sweeper deletes the contents of terminating namespaces, dependents of deleted owners, and expired objects.
 *
 * A request. wire/serve.ts takes a slot, authenticates and authorizes (caller.ts), decodes the body and calls `dispatch`:
 * - get and list read pages of rows, without a lock;
 * - create, update, patch and delete (change.ts) run in one `writeObjects` transaction. It locks the cluster's row in `object_space`, checks the
 *   caller's permissions again, stores the object and its change under the next version, and notifies the cluster's channel;
 * - a watch reads the change log up to the position of the change feed, then receives further changes from the feed. There is one feed per cluster
 *   and process, for all its watches;
 * - reviews, tokens and paths that are no resources have handlers of their own.
 *
 * States of an object: stored, then deleting (`deletionTimestamp` is set) while finalizers remain, then gone. Versions grow in commit order.
 * A watch is catching up, streaming, or ended: by its timeout, by a client that does not read, or by the end of its credential.
 *
 * Crashes. Object, change, version, addresses and certificate commit together or not at all. In memory are only the compiled RBAC, the feed,
 * counters and buffers; a new process reads them again. Clients reopen their watches with the last version that they know, on any server.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { runFor } from '../../../../kernel/fairness/index.ts';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import { parseRequestInfo } from '../../rules/kubernetes/request-info.ts';
import { statusOf } from '../../rules/kubernetes/status.ts';
import { type HeartbeatRow, listHeartbeatRows } from '../../store/heartbeats.ts';
import { removeSpace } from '../../store/objects.ts';
import { createBuiltInObjects } from './built-in-objects.ts';
import type { Call, Reply } from './call.ts';
import { internalCaller } from './caller.ts';
import { makeChangeFeed } from './change-feed.ts';
import type { Cluster, EmbeddedIdentity, EmbeddedOptions } from './cluster.ts';
import { dispatch } from './dispatch.ts';
import { describeFullStore } from './store-quota.ts';
import { makeSweeper } from './sweep.ts';
import { uncounted } from './unread-bytes.ts';
import { type ServeContext, serveRequest, toApiError } from './wire/serve.ts';

export type { Access, EmbeddedIdentity, EmbeddedOptions } from './cluster.ts';

export interface EmbeddedCluster {
  /** Serves one HTTP request on the cluster's listener, watches included. Never throws. */
  serve(request: IncomingMessage, response: ServerResponse, identity: EmbeddedIdentity | undefined): void;
  /** Sends a request without a socket, as a member of system:masters. */
  // biome-ignore lint/suspicious/noExplicitAny: objects of any kind
  ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: any }>;
  /**
   * Watches in process: all objects first, then changes. The watch reconnects when it is cut, so an event may come twice. Each event is
   * delivered in its own turn of the event loop. The returned function ends the watch.
   */
  // biome-ignore lint/suspicious/noExplicitAny: objects of any kind
  watch(path: string, onEvent: (event: { type: string; object: any }) => void): () => void;
  /** A sentence, if the store has no space left for its users. */
  fullness(): string | undefined;
  /** Heartbeats of the nodes, without reading the node objects. */
  heartbeats(): Promise<HeartbeatRow[]>;
  /** `inflightPeak` is the peak since the last call. */
  figures(): { requests: number; errors: number; inflightPeak: number; objects: number; bytes: number };
  stop(): Promise<void>;
}

export function openEmbedded(app: App, options: EmbeddedOptions): EmbeddedCluster {
  const cluster: Cluster = {
    ...{ app, options, id: options.clusterId, org: options.org, channel: `clusters.objects:${options.clusterId}` },
    ...{
      rbac: undefined,
      rbacLoading: undefined,
      rbacObjects: new Map(),
      inFlight: 0,
      watches: 0,
      watchesByCredential: new Map(),
      lastWrite: Promise.resolve(),
      scheduleSweep: () => {},
      isStopped: false,
    },
    figures: { requests: 0, errors: 0, inflightPeak: 0, objects: 0, bytes: 0 },
  };
  const feed = makeChangeFeed(cluster);
  const sweeper = makeSweeper(cluster);
  cluster.scheduleSweep = sweeper.schedule;
  const stopping = new AbortController();
  const serving: ServeContext = { cluster, ready: prepareOnce(cluster), dispatch: (call) => dispatch(cluster, feed, call) };
  serving.ready().then(sweeper.schedule, () => {}); // on failure, each request retries

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
    ask: (method, path, body) => runFor({ org: cluster.org, operation: 'kubernetes' }, () => answerInternally(serving, method, path, body)),
    watch: (path, onEvent) => {
      const watchAbort = new AbortController();
      const signal = AbortSignal.any([watchAbort.signal, stopping.signal]);
      void runFor({ org: cluster.org, operation: 'kubernetes watch' }, () => watchWithRetry(serving, path, onEvent, signal));
      return () => watchAbort.abort();
    },
    fullness: () => describeFullStore(cluster),
    heartbeats: () => runFor({ org: cluster.org, operation: 'kubernetes' }, () => app.db.read((tx) => listHeartbeatRows(tx, cluster.id))),
    figures: () => {
      const figures = { ...cluster.figures };
      cluster.figures.inflightPeak = cluster.inFlight;
      return figures;
    },
    stop: async () => {
      cluster.isStopped = true;
      stopping.abort();
      feed.stop();
      await sweeper.stop();
    },
  };
}

/** Deletes all objects of a cluster that is torn down. */
export const removeObjects = (tx: Tx, clusterId: string): Promise<void> => removeSpace(tx, clusterId);

/** Creates the built-in objects once. After a failure the next request retries. */
function prepareOnce(cluster: Cluster): () => Promise<void> {
  let preparing: Promise<void> | undefined;
  return () => {
    preparing ??= runFor({ org: cluster.org, operation: 'kubernetes' }, () => createBuiltInObjects(cluster)).catch((error) => {
      preparing = undefined;
      throw error;
    });
    return preparing;
  };
}

const patchType = 'application/merge-patch+json';

const internalCall = (method: string, path: string, body: unknown, signal: AbortSignal): Call => ({
  requestInfo: parseRequestInfo(method, path),
  caller: internalCaller,
  ...{ body, signal, unread: uncounted, contentType: method === 'PATCH' ? patchType : 'application/json', accept: '' },
  representation: { as: 'object', rowObject: 'None' },
});

/** A PATCH is a merge patch, or a JSON patch if the body is a list. */
async function answerInternally(
  serving: ServeContext,
  method: string,
  path: string,
  body: unknown,
): Promise<{ status: number; body: unknown }> {
  try {
    await serving.ready();
    const copy = body === undefined ? undefined : JSON.parse(JSON.stringify(body));
    const call = internalCall(method, path, copy, new AbortController().signal);
    if (Array.isArray(body)) call.contentType = 'application/json-patch+json';
    return await readReply(await serving.dispatch(call));
  } catch (error) {
    const status = statusOf(toApiError(serving.cluster, error));
    return { status: status.code, body: status };
  }
}

async function readReply(reply: Reply): Promise<{ status: number; body: unknown }> {
  if (!('chunks' in reply)) {
    const isJson = typeof reply.body === 'string' && reply.body.startsWith('{');
    return { status: reply.status, body: isJson ? JSON.parse(reply.body as string) : JSON.parse(JSON.stringify(reply.body)) };
  }
  let text = '';
  for await (const chunk of reply.chunks) text += chunk;
  return { status: 200, body: JSON.parse(text) };
}

const watchRetryMs = 1_000;

async function watchWithRetry(
  serving: ServeContext,
  path: string,
  onEvent: (event: { type: string; object: unknown }) => void,
  signal: AbortSignal,
): Promise<void> {
  const watchPath = `${path}${path.includes('?') ? '&' : '?'}watch=1`;
  while (!signal.aborted) {
    try {
      await serving.ready();
      const reply = await serving.dispatch(internalCall('GET', watchPath, undefined, signal));
      if ('chunks' in reply) await deliverEvents(serving.cluster, reply.chunks, onEvent, signal);
    } catch (error) {
      serving.cluster.app.log.debug({ err: error, cluster: serving.cluster.id, path }, 'a watch ended; it is opened again');
    }
    await setTimeout(watchRetryMs, undefined, { signal, ref: false }).catch(() => {});
  }
}

async function deliverEvents(
  cluster: Cluster,
  chunks: AsyncIterable<string>,
  onEvent: (event: { type: string; object: unknown }) => void,
  signal: AbortSignal,
): Promise<void> {
  for await (const chunk of chunks)
    for (const line of chunk.split('\n')) {
      if (line === '' || signal.aborted) continue;
      const event = JSON.parse(line) as { type: string; object: unknown };
      if (event.type === 'ERROR') return;
      try {
        onEvent(event);
      } catch (error) {
        cluster.app.log.error({ err: error, cluster: cluster.id }, 'the handler of a watch on an embedded cluster failed');
      }
    }
}
