import type { WantedObject } from '../kubeadm.ts';

// What the objects of both addons are made of.

export interface AddonContext {
  version: string;
  endpoint: string;
  /** Where images come from: a registry, or a path in one, with the names that registry.k8s.io has. */
  images: string;
  /** Nodes log in there. */
  login?: string | undefined;
}

/** An image whose tag follows the cluster's version. */
export interface WantedImage {
  container: string;
  name: string;
  tag: string;
}

export const system = 'kube-system';
export const rbacGroup = 'rbac.authorization.k8s.io';
export const rbac = `${rbacGroup}/v1`;
export const corePath = (plural: string) => `/api/v1/namespaces/${system}/${plural}`;
export const appsPath = (plural: string) => `/apis/apps/v1/namespaces/${system}/${plural}`;
export const rbacPath = (plural: string) => `/apis/${rbac}/${plural}`;
const account = (name: string) => ({ kind: 'ServiceAccount', name, namespace: system });

/** The Secret with the login for images. */
export const imageLogin = 'quarterdeck-images';

export const serviceAccount = (name: string, { login }: AddonContext): WantedObject => ({
  path: corePath('serviceaccounts'),
  object: {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name, namespace: system },
    ...(login ? { imagePullSecrets: [{ name: imageLogin }] } : {}),
  },
});

export const clusterBinding = (name: string, role: string, to: string): WantedObject => ({
  path: rbacPath('clusterrolebindings'),
  object: {
    apiVersion: rbac,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: role },
    subjects: [account(to)],
  },
});

export const imageOf = ({ images }: AddonContext, { name, tag }: WantedImage) => `${images}/${name}:${tag}`;
