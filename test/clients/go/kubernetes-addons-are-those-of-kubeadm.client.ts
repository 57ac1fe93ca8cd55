import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { addonObjects } from '../../../src/areas/clusters/rules/addons/index.ts';
import type { KubeObject } from '../../../src/areas/clusters/rules/kubeadm.ts';
import { podRange, serviceRange } from '../../../src/areas/clusters/rules/networks.ts';
import { scratch } from '../../harness/process.ts';

const kubeadm = process.env['PATH']!.split(':').some((dir) => existsSync(join(dir, 'kubeadm')));
const endpoint = 'https://203.0.113.5:16443';

const titleOf = ({ kind, metadata }: KubeObject) => `${kind} ${metadata.name}`;
const sorted = (objects: readonly KubeObject[]) => [...objects].sort((a, b) => (titleOf(a) < titleOf(b) ? -1 : 1));

/** Without what kubeadm prints for its own updates, or for want of a value. */
function plain({ metadata, ...rest }: KubeObject): KubeObject {
  const { creationTimestamp: _never, resourceVersion: _update, ...kept } = metadata as KubeObject['metadata'] & Record<string, unknown>;
  return { ...rest, metadata: kept } as KubeObject;
}

/** A text of YAML counts by what it says: comments and the order of keys are no difference. */
const readTexts = (object: KubeObject): KubeObject =>
  object.metadata.name === 'kube-proxy' && object.kind === 'ConfigMap'
    ? {
        ...object,
        data: Object.fromEntries(Object.entries(object['data'] as Record<string, string>).map(([name, text]) => [name, text.trimEnd()])),
      }
    : object;

test('kube-proxy and CoreDNS are laid down exactly as kubeadm of that version prints them', {
  skip: !kubeadm && 'kubeadm is not built',
}, async (t) => {
  const { dir } = await scratch(t);
  const config = join(dir, 'config.json');
  const api = { apiVersion: 'kubeadm.k8s.io/v1beta4' };
  const init = { ...api, kind: 'InitConfiguration', localAPIEndpoint: { advertiseAddress: '203.0.113.5', bindPort: 16443 } };
  const cluster = {
    ...api,
    kind: 'ClusterConfiguration',
    kubernetesVersion: 'v1.36.4',
    controlPlaneEndpoint: new URL(endpoint).host,
    networking: { dnsDomain: 'cluster.local', podSubnet: podRange, serviceSubnet: serviceRange },
  };
  await writeFile(config, [init, cluster].map((each) => JSON.stringify(each)).join('\n---\n'));
  const printed: KubeObject[] = [];
  for (const addon of ['coredns', 'kube-proxy']) {
    const { stdout } = await promisify(execFile)('kubeadm', ['init', 'phase', 'addon', addon, '--print-manifest', '--config', config]);
    for (const document of parseAllDocuments(stdout)) if (document.contents) printed.push((document as { toJS(): KubeObject }).toJS());
  }
  const ours = addonObjects({ version: 'v1.36.4', endpoint, images: 'registry.k8s.io' }).map(({ object }) => object);
  assert.deepEqual(sorted(ours).map(readTexts), sorted(printed.map(plain)).map(readTexts));
});
