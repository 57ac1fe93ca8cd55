import type { PlaneOptions } from '../../../drivers/driver.ts';
import type { App } from '../../../kernel/app.ts';
import { lifetimes } from '../rules/lifetimes.ts';
import { podRange, serviceRange } from '../rules/networks.ts';
import { tierOf } from '../rules/tiers.ts';
import { isCertificateRefused } from '../store/nodes.ts';
import { accessTo } from './access.ts';
import { clustersDue } from './channels.ts';

type Given = Pick<
  PlaneOptions,
  | 'cluster'
  | 'pki'
  | 'endpoint'
  | 'isRefused'
  | 'binaries'
  | 'unread'
  | 'nodeGuard'
  | 'lease'
  | 'hold'
  | 'ending'
  | 'storeOrigin'
  | 'beforeStoreSwitch'
>;

/** Everything that a driver is told of a cluster. */
export function planeOptionsOf(app: App, given: Given): PlaneOptions {
  const { id } = given.cluster();
  return {
    ...given,
    limits: () => tierOf(given.cluster().tier),
    network: { services: serviceRange, pods: podRange },
    nodeCertificateSeconds: lifetimes.nodeCertificate,
    isRefusedNow: (tx, fingerprint) => isCertificateRefused(tx, id, fingerprint),
    access: accessTo(id),
    wakeShard: () => app.waker.wake(clustersDue),
  };
}
