import type { IncomingMessage, ServerResponse } from 'node:http';
import type { App } from '../../kernel/app.ts';
import { runFor } from '../../kernel/fairness/index.ts';
import { guarded } from '../../kernel/faults/guarded.ts';
import { createBuiltInObjects } from './engine/built-in-objects.ts';
import { makeChangeFeed } from './engine/change-feed.ts';
import type { Cluster, EmbeddedIdentity, EmbeddedOptions } from './engine/cluster.ts';
import { describeFullStore } from './engine/store-quota.ts';
import { makeSweeper } from './engine/sweep.ts';
import { dispatch } from './planes/dispatch.ts';
import { answerInternally, watchWithRetry } from './planes/in-process.ts';
import { type ServeContext, serveRequest } from './planes/serve.ts';
import { type HeartbeatRow, listHeartbeatRows } from './store/heartbeats.ts';

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
    app,
    options,
    id: options.clusterId,
    org: options.org,
    channel: `clusters.objects:${options.clusterId}`,
    rbac: undefined,
    rbacLoading: undefined,
    rbacObjects: new Map(),
    inFlight: 0,
    watches: 0,
    watchesByCredential: new Map(),
    lastWrite: Promise.resolve(),
    scheduleSweep: () => {},
    isStopped: false,
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
