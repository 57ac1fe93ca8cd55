import type { App } from '../../../../kernel/app.ts';
import { isUnavailable } from '../../../../kernel/db/index.ts';
import { runFor, systemContext } from '../../../../kernel/fairness/index.ts';
import { clockMoved, wake } from '../../../../kernel/jobs/index.ts';
import { makeInterruptibleSleep } from '../../../../kernel/jobs/interruptible-sleep.ts';
import * as store from '../../store/handover.ts';
import { type ShardHeartbeat, touchShard } from '../../store/shards.ts';
import { clustersDue } from '../channels.ts';

// Each server with the role shard writes a heartbeat, and looks at those of the others. It ends the leases of a server that is gone, so that its
// clusters are claimed at once. A server that could not write its own in time serves nothing until it can: it does not know who does.

const beatMs = 1_000;
/** While it has no cluster, and there is no other server. */
const idleBeatMs = 4_000;
/** After a failure. */
const retryMs = 500;
/** Silent for this long, a server is gone. */
export const silentSeconds = 8;
/** A server whose listening connection is gone too has most likely ended, or lost the database. */
const disconnectedMs = 2_500;
/** What is found must hold for this long: after an outage of the database others need a moment to say that they are there. */
const suspicionMs = 1_500;

export interface Presence {
  /** Whether its last heartbeat is young enough that no other server takes its clusters. */
  isCurrent(): boolean;
  /** Writes a heartbeat now. */
  beat(): Promise<void>;
  /** The other servers, as last seen. */
  peers(): readonly string[];
  stop(): Promise<void>;
}

export interface PresenceParts {
  app: App;
  id: string;
  describe(): Omit<ShardHeartbeat, 'id' | 'process'>;
  /** Whether it has clusters. */
  isNeeded(): boolean;
  /** Gives up the clusters whose leases other servers have. */
  checkLeases(): Promise<void>;
  onGone(): void;
}

/** A first heartbeat has been tried when this resolves. */
export async function startPresence(parts: PresenceParts): Promise<Presence> {
  const { app, id } = parts;
  let sentAt = Number.NEGATIVE_INFINITY;
  let stopped = false;
  let peers: readonly string[] = [];
  const suspects = makeSuspects();
  const nudge = makeInterruptibleSleep();
  const endHearing = app.waker.subscribe(clockMoved, nudge.wake);

  // While it is off, others may see no connection of this server, and count its silence for more.
  let listenerChangedAt = Number.NEGATIVE_INFINITY;
  app.listener.onChange(() => {
    listenerChangedAt = performance.now();
  });
  const isCurrent = () => {
    const silentMs = performance.now() - sentAt;
    const isConnected = app.listener.hearing && listenerChangedAt < sentAt;
    return silentMs < (isConnected ? silentSeconds * 1000 : disconnectedMs);
  };
  const beat = async () => {
    const at = performance.now(); // not when it is answered: others count from before that
    await app.db.write((tx) => touchShard(tx, { id, process: app.process, ...parts.describe() }));
    // Others may have ended its leases meanwhile; from this heartbeat on they do not.
    if (!isCurrent()) await parts.checkLeases();
    sentAt = at;
  };
  const look = async () => {
    const found = await app.db.read((tx) => store.peersOf(tx, id));
    peers = found.map((peer) => peer.id);
    for (const gone of suspects.judge(found, performance.now())) {
      const isEnded = await app.db.write(async (tx) => {
        const ended = await store.endShard(tx, gone);
        if (ended) wake(tx, clustersDue);
        return ended;
      });
      if (!isEnded) continue;
      app.log.warn(
        { server: gone.id, silentMs: Math.round(gone.silent_ms) },
        'a server with the role shard is gone; its clusters are taken over',
      );
      parts.onGone();
    }
  };
  const round = async () => {
    await beat();
    await look();
  };
  /** Returns the pause until the next one. */
  const tryRound = () =>
    runFor({ ...systemContext, operation: 'clusters.presence' }, round, app.watch).then(
      () => (suspects.size() > 0 ? retryMs : parts.isNeeded() || peers.length > 0 ? beatMs : idleBeatMs),
      (error) => {
        suspects.clear(); // nothing was seen
        if (!isUnavailable(error)) app.log.warn({ err: error }, 'the heartbeat of this server could not be written; it is tried again');
        return retryMs;
      },
    );
  let pauseMs = await tryRound();
  const loop = (async () => {
    while (!stopped) {
      await nudge.sleep(pauseMs);
      if (!stopped) pauseMs = await tryRound();
    }
  })();
  return {
    isCurrent,
    beat,
    peers: () => peers,
    async stop() {
      stopped = true;
      endHearing();
      nudge.wake();
      await loop;
    },
  };
}

/** Servers that seem to be gone, each since when, by the monotonic clock. */
export function makeSuspects() {
  const since = new Map<string, number>();
  return {
    size: () => since.size,
    clear: () => since.clear(),
    /** Those that are gone. */
    judge(peers: readonly store.PeerRow[], now: number): store.PeerRow[] {
      const isSilent = ({ silent_ms }: store.PeerRow) => silent_ms >= silentSeconds * 1000;
      const suspected = peers.filter((peer) => peer.is_disconnected || isSilent(peer));
      for (const id of since.keys()) if (!suspected.some((peer) => peer.id === id)) since.delete(id);
      for (const { id } of suspected) if (!since.has(id)) since.set(id, now);
      return suspected.filter((peer) => {
        const hasSaidNothing = isSilent(peer) || (peer.is_disconnected && peer.silent_ms >= disconnectedMs);
        return hasSaidNothing && now - since.get(peer.id)! >= suspicionMs;
      });
    },
  };
}
