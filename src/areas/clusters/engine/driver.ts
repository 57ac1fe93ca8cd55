import { lifetimes } from '../rules/lifetimes.ts';
import { tierOf } from '../rules/tiers.ts';
import { isCertificateRefused } from '../store/nodes.ts';
import { accessTo } from './access.ts';
import { openEmbedded, removeObjects } from './embedded/index.ts';
import { processDriver } from './process/index.ts';
import type { Driver } from './types.ts';

const openEmbeddedPlane: Driver['open'] = (app, { cluster, pki, endpoint, isRefused, unread }) => {
  const { id, org_id } = cluster();
  const plane = openEmbedded(app, {
    clusterId: id,
    org: org_id,
    version: () => cluster().version,
    clientCa: { certificate: pki.caCertificate, key: pki.caKey },
    serviceAccount: { privateKeyPem: pki.accountKey, issuer: endpoint, audience: endpoint },
    isRefused,
    access: accessTo(id),
    isRefusedNow: (tx, fingerprint) => isCertificateRefused(tx, id, fingerprint),
    unread,
    certificateSeconds: lifetimes.nodeCertificate,
    inflight: () => tierOf(cluster().tier).inflight,
    bytes: () => tierOf(cluster().tier).datastoreBytes,
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

const embedded: Driver = {
  ...{ open: openEmbeddedPlane, openClient: openEmbeddedPlane, dropObjects: removeObjects },
  ...{ stopPrograms: noop, removeFiles: noop, recover: noop, sweep: noop },
};

/** By the name in a cluster's row. */
export const drivers: Readonly<Record<string, Driver>> = { embedded, process: processDriver };
