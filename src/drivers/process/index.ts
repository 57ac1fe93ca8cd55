/**
 * The process driver: one cluster is kine or etcd, kube-apiserver, kube-controller-manager and kube-scheduler, run as programs beside this server.
 * docs/areas/clusters-process.md has the operator's view and the crash table.
 *
 * Actors.
 * - A shard of the clusters area holds the cluster's lease and calls `apply` after every change of its row or keys, and when `problem()` says so.
 * - engine/apply.ts compares the wanted programs (rules/programs.ts) with the records on disk and takes the missing steps; ensure-program.ts
 *   adopts, starts or replaces one program, with a backoff for programs that keep exiting.
 * - engine/health-loop.ts checks every 2 s that programs run and apiservers are ready, and sets `plane.problem`, which wakes the shard.
 * - planes/forward.ts and upgrade.ts send the front's requests to an apiserver of the pool (engine/target-pool.ts); engine/capacity.ts refuses
 *   writes to a full store, whose size store-size.ts measures.
 * - engine/etcd runs the members of a dedicated datastore: members.ts changes them one at a time as rules/etcd/members.ts says, outage.ts holds
 *   requests back (engine/request-gate.ts) while one that ended is away, upkeep.ts measures, defragments and refuses writes to a full store, and
 *   origin.ts makes a generation of a backup or of another store's objects. docs/areas/clusters-etcd.md has its crash table.
 * - engine/kine-store.ts copies a kine store and fills a generation of it; check-copy.ts restores a copy beside the cluster and counts it.
 * - engine/orphans.ts stops programs, and drops stores, of clusters that this server no longer holds.
 * - clients/ starts and stops programs, owns their directories, users and cgroups, dials apiservers, and is the proxy by which they reach nodes.
 *
 * Flow of a change: keys and schema → kine → new apiservers start beside the old → all ready → pool switches → old ones drain and stop →
 * controllers restart → old keys are removed.
 *
 * States of an apiserver: started, ready (in the pool), excluded (in the pool without requests), draining, stopped.
 *
 * What survives a crash. Each started program has a record file (pid, start time, port, hash of everything it was started with). Programs keep
 * running when the server dies; the next holder of the lease adopts those whose hash is still wanted and stops the others. A program without a
 * record is found by its working directory. All other state here (pool, backoffs, figures, capacity) is in memory and is rebuilt.
 */

import type { Driver } from '../driver.ts';
import { detectedCgroups, isAllowed } from './clients/cgroup.ts';
import { removeDirectory, runDir } from './clients/directory.ts';
import { stopAll } from './clients/programs.ts';
import { removeStore } from './clients/store-directory.ts';
import { checkCopy, clusterOfCheck, isBeingChecked } from './engine/check-copy.ts';
import { releaseDeadHolders, sweepOrphans } from './engine/orphans.ts';
import { openCheckPlane, openEndpointClient, openPlane } from './open.ts';
import { closeRoles, dropSchemas, endSessions } from './store/kine.ts';

export { binariesDir, etcdNames, listInstalled, openBinaries, programNames } from './clients/binaries.ts';
export { readDirectoryId } from './clients/directory-id.ts';
export { knownSharedUserReason } from './clients/users.ts';
export { keysOfRows, openKineKeys } from './engine/kine-store.ts';
export { cgroupLimitsOf } from './rules/cgroup.ts';
export { quotaBytesOf } from './rules/etcd/limits.ts';
export { memberCountOf } from './rules/etcd/members.ts';
export { isUpgrade } from './rules/forwarding.ts';
export { kineSchemas } from './store/kine.ts';

export const processDriver: Driver = {
  open: openPlane,
  openClient: (_app, parts) => openEndpointClient(parts),
  async stopPrograms(app, cluster) {
    await stopAll(`${runDir(app.config.data)}/${cluster}`);
    // A session with a stolen password of the role may exist without any program of ours.
    await app.db.write((tx) => closeRoles(tx, cluster));
    await app.db.read((tx) => endSessions(tx, cluster));
  },
  async dropObjects(tx, cluster) {
    await dropSchemas(tx, cluster); // what cannot be dropped at once is logged and dropped by the sweep
  },
  async removeFiles(app, cluster) {
    await removeDirectory(app.config.data, cluster);
    await removeStore(app.config.data, cluster);
    const found = detectedCgroups();
    if (found && isAllowed(found)) await found.remove(cluster);
  },
  checkCopy: (app, parts, copy, signal) => {
    const cluster = clusterOfCheck(parts.cluster(), copy.kind);
    return checkCopy(app, openCheckPlane(app, { ...parts, cluster: () => cluster }), copy, signal);
  },
  recover: releaseDeadHolders,
  sweep: (app, leases, isHeld) => sweepOrphans(app, leases, (cluster) => isHeld(cluster) || isBeingChecked(cluster)),
};

/** '': this server limits programs by cgroups, else why not; null: not detected yet. */
export function whyWithoutCgroups(): string | null {
  const found = detectedCgroups();
  return found === undefined ? null : isAllowed(found) ? '' : found.why;
}
