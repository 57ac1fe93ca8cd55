import type { KubeObject, WantedObject } from '../kubeadm.ts';
import { compareVersions, parseVersion } from '../versions.ts';
import { dnsImage, dnsObjects } from './dns.ts';
import { type AddonContext, appsPath, corePath, imageLogin, system, type WantedImage } from './parts.ts';
import { proxyImage, proxyObjects } from './proxy.ts';

// kube-proxy and CoreDNS as kubeadm lays them down in a new cluster (cmd/kubeadm/app/phases/addons). Compared with the output of
// `kubeadm init phase addon … --print-manifest` by test/clients/go.

export { dnsVersionOf } from './dns.ts';
export type { AddonContext } from './parts.ts';

/** The login for images, which follows the setting; undefined: there is none. */
export function imageLoginSecret({ images, login }: Pick<AddonContext, 'images' | 'login'>): WantedObject | undefined {
  if (!login) return undefined;
  const [registry = ''] = images.split('/');
  const auths = { auths: { [registry]: { auth: Buffer.from(login).toString('base64') } } };
  return {
    path: corePath('secrets'),
    object: {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: imageLogin, namespace: system },
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': Buffer.from(JSON.stringify(auths)).toString('base64') },
    },
    corrected: ['data'],
  };
}

/** In the order in which they are made. */
export const addonObjects = (context: AddonContext): WantedObject[] => [...dnsObjects(context), ...proxyObjects(context)];

/** The workloads whose images follow the cluster's version. */
export const addonWorkloads = (version: string) => [
  { path: `${appsPath('daemonsets')}/kube-proxy`, image: proxyImage(version) },
  { path: `${appsPath('deployments')}/coredns`, image: dnsImage(version) },
];

/** The image with the newer tag; undefined: its tag is as new, or names no version (a digest, a tag of the tenant's own). */
export function raiseTag(image: unknown, { tag }: Pick<WantedImage, 'tag'>): string | undefined {
  if (typeof image !== 'string') return undefined;
  const colon = image.lastIndexOf(':');
  const [found, wanted] = [parseVersion(image.slice(colon + 1)), parseVersion(tag)];
  if (colon < 0 || !found || !wanted || compareVersions(found, wanted) >= 0) return undefined;
  return `${image.slice(0, colon)}:${tag}`;
}

/** The workload with the newer image; undefined: it stays as it is. Everything else in it is the tenant's. */
export function withNewerImage(workload: KubeObject, image: WantedImage): KubeObject | undefined {
  const spec = workload['spec'] as { template?: { spec?: { containers?: unknown } } } | undefined;
  const containers = spec?.template?.spec?.containers;
  if (!Array.isArray(containers)) return undefined;
  const raised = containers.map((each) => {
    const newer = each?.name === image.container ? raiseTag(each.image, image) : undefined;
    return newer === undefined ? each : { ...each, image: newer };
  });
  if (raised.every((each, n) => each === containers[n])) return undefined;
  return { ...workload, spec: { ...spec, template: { ...spec!.template, spec: { ...spec!.template!.spec, containers: raised } } } };
}
