/**
 * The embedded driver: a Kubernetes API in this process whose objects are rows of the database. It runs no pods.
 * docs/areas/clusters-embedded.md lists what it serves, what it refuses, and its limits.
 *
 * Actors. Clients (kubectl, kubelets) reach `serve` through the cluster's listener. Quarterdeck itself uses `ask` and `watch`
 * (planes/in-process.ts), as a member of system:masters. The sweeper (engine/sweep.ts) deletes the contents of terminating namespaces, dependents
 * of deleted owners, and expired objects.
 *
 * A request. planes/serve.ts takes a slot, authenticates and authorizes (engine/caller.ts), decodes the body and calls `dispatch`:
 * - get and list read pages of rows, without a lock;
 * - create, update, patch and delete (engine/change.ts) run in one `writeObjects` transaction. It locks the cluster's row in `object_space`, checks
 *   the caller's permissions again, stores the object and its change under the next version, and notifies the cluster's channel;
 * - a watch reads the change log up to the position of the change feed, then receives further changes from the feed. There is one feed per cluster
 *   and process, for all its watches;
 * - reviews, tokens and paths that are no resources have handlers of their own.
 * rules/ needs no database: paths, kinds and their defaults, schemas (JSON and protobuf), patches, selectors, RBAC, printed tables, discovery.
 *
 * States of an object: stored, then deleting (`deletionTimestamp` is set) while finalizers remain, then gone. Versions grow in commit order.
 * A watch is catching up, streaming, or ended: by its timeout, by a client that does not read, or by the end of its credential.
 *
 * Crashes. Object, change, version, addresses and certificate commit together or not at all. In memory are only the compiled RBAC, the feed,
 * counters and buffers; a new process reads them again. Clients reopen their watches with the last version that they know, on any server.
 */

import type { Driver } from '../driver.ts';
import { openEmbedded } from './open.ts';
import { removeSpace } from './store/objects.ts';

export { storeFullPrefix } from './engine/store-quota.ts';
export { makeUnreadLimiter } from './engine/unread-bytes.ts';
export { lockSpace } from './store/objects.ts';

const openPlane: Driver['open'] = (app, parts) => {
  const { cluster, limits, pki, endpoint } = parts;
  const { id, org_id } = cluster();
  const plane = openEmbedded(app, {
    clusterId: id,
    org: org_id,
    version: () => cluster().version,
    clientCa: { certificate: pki.caCertificate, key: pki.caKey },
    serviceAccount: { privateKeyPem: pki.accountKey, issuer: endpoint, audience: endpoint },
    isRefused: parts.isRefused,
    isRefusedNow: parts.isRefusedNow,
    access: parts.access,
    unread: parts.unread,
    ending: parts.ending,
    certificateSeconds: parts.nodeCertificateSeconds,
    inflight: () => limits().inflight,
    bytes: () => limits().datastoreBytes,
  });
  // Changes of the row are read with each request, so there is nothing to apply.
  return {
    ...plane,
    apply: (_, prepare) => prepare(plane.ask),
    problem: () => undefined,
    hasControllers: false,
    programs: async () => [],
    figures: () => ({ ...plane.figures(), components: [] }),
  };
};

const noop = async () => {};

export const embeddedDriver: Driver = {
  open: openPlane,
  openClient: openPlane,
  dropObjects: removeSpace,
  stopPrograms: noop,
  removeFiles: noop,
  recover: noop,
  sweep: noop,
};
