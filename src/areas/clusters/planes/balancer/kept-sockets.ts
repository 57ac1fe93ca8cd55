import type { ListeningSockets, SocketHandle } from '../../../../kernel/lifecycle/listening-sockets.ts';
import type { SocketAt } from './channel.ts';

// Copies of the listening sockets of one balancer program: connections wait in them while it is started again.

export interface KeptSockets {
  /** The socket that is open there: of the program before, or of the server before. */
  find(at: SocketAt): SocketHandle | undefined;
  /** One that the program has opened. */
  keep(at: SocketAt, handle: SocketHandle): void;
  release(at: SocketAt): void;
  releaseService(cluster: string, uid: string): void;
  releaseCluster(cluster: string): void;
  releaseAll(): void;
  /** Another program begins: what it does not ask for is closed by `releaseUnclaimed`. */
  forgetClaims(): void;
  releaseUnclaimed(): void;
}

interface Kept {
  at: SocketAt;
  handle: SocketHandle;
  isClaimed: boolean;
}

export function makeKeptSockets(sockets: Pick<ListeningSockets, 'take' | 'keep' | 'release'>): KeptSockets {
  /** By Service, then by address and port. */
  const kept = new Map<string, Map<string, Kept>>();
  const serviceOf = ({ cluster, uid }: SocketAt) => `${cluster} ${uid}`;
  const placeOf = ({ host, port }: SocketAt) => `${host}:${port}`;
  const add = (at: SocketAt, handle: SocketHandle) => {
    const ofService = kept.get(serviceOf(at)) ?? new Map<string, Kept>();
    kept.set(serviceOf(at), ofService.set(placeOf(at), { at, handle, isClaimed: true }));
  };
  const release = (at: SocketAt) => {
    const ofService = kept.get(serviceOf(at));
    const found = ofService?.get(placeOf(at));
    if (!ofService || !found) return;
    ofService.delete(placeOf(at));
    if (ofService.size === 0) kept.delete(serviceOf(at));
    found.handle.close();
    sockets.release(nameOf(at), at);
  };
  const releaseAt = (service: string) => {
    for (const { at } of [...(kept.get(service)?.values() ?? [])]) release(at);
  };
  const all = () => [...kept.values()].flatMap((ofService) => [...ofService.values()]);
  return {
    find(at) {
      const known = kept.get(serviceOf(at))?.get(placeOf(at));
      if (known) known.isClaimed = true;
      const handle = known?.handle ?? sockets.take(nameOf(at), at);
      if (handle && !known) add(at, handle);
      return handle;
    },
    keep(at, handle) {
      add(at, handle);
      sockets.keep(nameOf(at), at, handle);
    },
    release,
    releaseService: (cluster, uid) => releaseAt(`${cluster} ${uid}`),
    releaseCluster(cluster) {
      for (const service of [...kept.keys()]) if (service.startsWith(`${cluster} `)) releaseAt(service);
    },
    releaseAll() {
      for (const service of [...kept.keys()]) releaseAt(service);
    },
    forgetClaims() {
      for (const each of all()) each.isClaimed = false;
    },
    releaseUnclaimed() {
      for (const { at, isClaimed } of all()) if (!isClaimed) release(at);
    },
  };
}

/** By which the next server finds it. */
const nameOf = ({ cluster, uid, port }: SocketAt): string => `load balancer ${cluster} ${uid} ${port}`;
