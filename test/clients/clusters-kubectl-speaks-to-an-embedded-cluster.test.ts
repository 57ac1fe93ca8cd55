import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { embedded, makeRequest } from '../../src/drivers/embedded/test/support.ts';
import { minors, type Programs, programsFor, withoutKubectl } from './clusters-kubectl.ts';

const manifest = (port: number, value: string) => `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: team, labels: {app: x}}
data: {k: ${value}}
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: team}
stringData: {p: hello}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: team}
spec: {selector: {app: x}, ports: [{name: http, port: ${port}}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r, namespace: team}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list]}]
---
apiVersion: v1
kind: Node
metadata: {name: node-1, labels: {a: b}}
`;

const chart = `
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-cm}
data: {v: {{ .Values.v | default "1" | quote }}}
---
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}-s}
stringData: {p: x}
---
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}-svc}
spec: {type: NodePort, ports: [{port: 80}]}
`;

/** Runs it, and holds its whole output against a pattern. */
async function expect(ran: Promise<{ code: number; all: string }>, pattern: RegExp, code = 0): Promise<void> {
  const { code: got, all } = await ran;
  assert.match(all, pattern);
  assert.equal(got, code, all);
}

async function workWithObjects({ home, kubectl }: Programs): Promise<void> {
  const file = join(home, 'all.yaml');
  await expect(kubectl('create', 'ns', 'team'), /namespace\/team created/);
  await writeFile(file, manifest(80, 'v'));
  await expect(kubectl('apply', '-f', file), /configmap\/a created[\s\S]*node\/node-1 created/);
  await expect(kubectl('apply', '-f', file), /configmap\/a unchanged[\s\S]*node\/node-1 unchanged/);
  await writeFile(file, manifest(8080, 'w'));
  await expect(kubectl('diff', '-f', file), /\+ {2}k: w/, 1);
  await expect(kubectl('apply', '-f', file), /configmap\/a configured/);
  await expect(kubectl('get', 'all', '-n', 'team'), /service\/web +ClusterIP .*8080\/TCP/);
  await expect(kubectl('get', 'cm', '-n', 'team', '-l', 'app=x', '--show-labels'), /app=x/);
  await expect(kubectl('describe', 'node', 'node-1'), /Unschedulable: +false/);
  await expect(kubectl('label', 'cm', 'a', '-n', 'team', 'x=y'), /labeled/);
  await expect(kubectl('annotate', 'cm', 'a', '-n', 'team', 'note=1'), /annotated/);
  await expect(kubectl('patch', 'cm', 'a', '-n', 'team', '--type=json', '-p', '[{"op":"add","path":"/data/z","value":"2"}]'), /patched/);
  await expect(kubectl('wait', '--for=jsonpath={.data.z}=2', 'cm/a', '-n', 'team', '--timeout=10s'), /condition met/);
  await expect(kubectl('cordon', 'node-1'), /cordoned/);
  await expect(kubectl('get', 'nodes'), /SchedulingDisabled/);
  await expect(kubectl('taint', 'nodes', 'node-1', 'k=v:NoSchedule'), /tainted/);
  await expect(kubectl('drain', 'node-1', '--ignore-daemonsets'), /drained/);
  await expect(kubectl('explain', 'node.spec.taints'), /effect/);
  await expect(kubectl('delete', '-f', file), /node "node-1" deleted/);
}

async function askForRights({ kubectl }: Programs): Promise<void> {
  await expect(kubectl('create', 'sa', 'bob', '-n', 'team'), /created/);
  await expect(kubectl('create', 'token', 'bob', '-n', 'team'), /^ey\S+\.\S+\.\S+$/);
  await expect(kubectl('create', 'role', 'r', '--verb=list', '--resource=configmaps', '-n', 'team'), /created/);
  await expect(kubectl('create', 'rolebinding', 'b', '--role=r', '--serviceaccount=team:bob', '-n', 'team'), /created/);
  await expect(kubectl('auth', 'can-i', 'list', 'configmaps', '-n', 'team', '--as=system:serviceaccount:team:bob'), /^yes/);
  await expect(kubectl('auth', 'can-i', 'delete', 'configmaps', '-n', 'team', '--as=system:serviceaccount:team:bob'), /^no/, 1);
  await expect(kubectl('auth', 'whoami'), /Username +admin/);
}

async function signRequests({ home, kubectl }: Programs): Promise<void> {
  const { pem } = makeRequest('jane', ['devs']);
  const request = Buffer.from(pem).toString('base64');
  const file = join(home, 'csr.yaml');
  await writeFile(
    file,
    `{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: jane}, spec: {request: ${request}, signerName: kubernetes.io/kube-apiserver-client, usages: [client auth]}}`,
  );
  await expect(kubectl('apply', '-f', file), /created/);
  await expect(kubectl('get', 'csr'), /jane .*Pending/);
  await expect(kubectl('certificate', 'approve', 'jane'), /approved/);
  await expect(kubectl('get', 'csr'), /jane .*Approved,Issued/);
}

async function installChart({ home, helm }: Programs): Promise<void> {
  const folder = join(home, 'chart');
  await mkdir(join(folder, 'templates'), { recursive: true });
  await writeFile(join(folder, 'Chart.yaml'), 'apiVersion: v2\nname: demo\nversion: 0.1.0\n');
  await writeFile(join(folder, 'templates/all.yaml'), chart);
  await expect(helm('install', 'demo', folder, '--server-side=false'), /STATUS: deployed/);
  await expect(helm('upgrade', 'demo', folder, '--set', 'v=2', '--server-side=false'), /REVISION: 2/);
  await expect(helm('rollback', 'demo', '1', '--server-side=false'), /success/);
  await expect(helm('uninstall', 'demo'), /uninstalled/);
  await expect(helm('install', 'ssa', folder), /server-side apply is not served by this embedded control plane/, 1);
}

for (const minor of minors)
  test(`kubectl and helm of ${minor} speak to an embedded cluster`, { skip: withoutKubectl(minor) }, async (t) => {
    const bed = await embedded(t);
    const programs = await programsFor(t, minor, bed);
    const { kubectl } = programs;
    await expect(kubectl('version'), /Server Version: v1\.36\.0\+embedded/);
    await expect(kubectl('api-resources'), /certificatesigningrequests +csr/);
    await workWithObjects(programs);
    await askForRights(programs);
    await signRequests(programs);
    await installChart(programs);
    await expect(kubectl('create', 'deployment', 'd', '--image=x'), /embedded and runs no pods/, 1);
    await expect(kubectl('run', 'p', '--image=x'), /embedded and runs no pods/, 1);
    await expect(kubectl('delete', 'ns', 'team', '--timeout=30s'), /deleted/);
    assert.equal(bed.cluster.figures().errors, 0);
  });
