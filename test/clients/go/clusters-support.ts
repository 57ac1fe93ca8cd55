import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import https from 'node:https';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Recorded, recordsIn, runOf } from '../../../src/areas/clusters/test/process/support.ts';
import { adminOf, kube, readyCluster, type Way } from '../../../src/areas/clusters/test/support.ts';
import type { EtcdKeys } from '../../../src/drivers/keys.ts';
import { openEtcdClient } from '../../../src/drivers/process/clients/etcd.ts';
import type { MembersFile } from '../../../src/drivers/process/rules/etcd/members.ts';
import { quarterdeck } from '../../harness/index.ts';
import { binaries } from './kubernetes-support.ts';

const connections = 16;
const maps = '/api/v1/namespaces/default/configmaps';

export interface Failed {
  method: string;
  how: string;
  /** When it was sent, and when it failed. */
  sentAt: number;
  at: number;
}

/** Requests at a steady rate, whatever becomes of them: creations, changes, reads and lists. What was acknowledged is remembered. */
export function steadyLoad(way: Way, prefix: string, perSecond = 50) {
  // As a client has them: connections that are kept, over which requests take turns.
  const agent = new https.Agent({ keepAlive: true, ca: way.ca, maxSockets: connections, maxFreeSockets: connections });
  const failures: Failed[] = [];
  const acknowledged = new Map<string, string>();
  const figures = { sent: 0, slowestMs: 0 };
  const pending = new Set<Promise<void>>();
  let isOver = false;
  const ask = (method: string, path: string, body?: unknown) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${way.token}`,
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      };
      const request = https.request(`${way.server}${path}`, { method, agent, headers }, (answer) => {
        let text = '';
        answer
          .setEncoding('utf8')
          .on('data', (piece) => (text += piece))
          .on('error', reject)
          .once('end', () => resolve({ status: answer.statusCode!, text }))
          .once('close', () => reject(new Error('the answer was cut off')));
      });
      request.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
    });
  const mapOf = (name: string, n: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { n } });
  const send = async (n: number) => {
    const name = `${prefix}-${n - (n % 4)}`;
    const kinds = [
      { method: 'POST', wanted: 201, act: () => ask('POST', maps, mapOf(name, 'made')), leaves: 'made' },
      { method: 'GET', wanted: 200, act: () => ask('GET', `${maps}/seed`), leaves: undefined },
      { method: 'PATCH', wanted: 200, act: () => ask('PATCH', `${maps}/seed`, { data: { [`n${n % 20}`]: `${n}` } }), leaves: undefined },
      { method: 'LIST', wanted: 200, act: () => ask('GET', `${maps}?limit=20`), leaves: undefined },
    ];
    const { method, wanted, act, leaves } = kinds[n % 4]!;
    const sentAt = performance.now();
    const how = await act().then(
      ({ status, text }) => (status === wanted ? undefined : `${status} ${text.slice(0, 300)}`),
      (error: NodeJS.ErrnoException) => error.code ?? error.message,
    );
    const at = performance.now();
    figures.slowestMs = Math.max(figures.slowestMs, at - sentAt);
    if (how !== undefined) failures.push({ method, how, sentAt, at });
    else if (leaves !== undefined) acknowledged.set(name, leaves);
  };
  const loop = (async () => {
    // A connection counts as a stranger's until its first answer, and few of these are let in at once.
    await Promise.all(Array.from({ length: connections }, () => ask('GET', `${maps}/seed`)));
    const began = performance.now();
    while (!isOver) {
      const work: Promise<void> = send(figures.sent++).finally(() => pending.delete(work));
      pending.add(work);
      await sleep(Math.max(0, began + (figures.sent * 1000) / perSecond - performance.now()));
    }
  })();
  return {
    figures,
    failures,
    acknowledged,
    /** Runs on for this long. */
    go: (ms: number) => sleep(ms),
    async stop() {
      isOver = true;
      await loop;
      await Promise.all(pending);
      agent.destroy();
    },
  };
}

/** Everything that was acknowledged is in the cluster. */
export async function assertNothingLost(
  list: () => Promise<{ metadata: { name: string }; data?: Record<string, string> }[]>,
  acknowledged: ReadonlyMap<string, string>,
) {
  const found = new Map((await list()).map(({ metadata, data }) => [metadata.name, data?.n]));
  const lost = [...acknowledged].filter(([name, value]) => found.get(name) !== value).map(([name]) => name);
  assert.deepEqual(lost, [], `of ${acknowledged.size} acknowledged writes`);
}

/** What a load reads and changes. */
export async function putSeed(admin: Way) {
  const seed = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'seed' } };
  assert.equal((await kube(admin, 'POST', maps, seed)).status, 201);
}

/** A server in this process, and a cluster with an etcd on it. */
export async function dedicatedCluster(t: TestContext, datastore: object) {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_CLUSTER_BINARIES: binaries } });
  const { owner, dataDir } = qd;
  await readyCluster(owner, {
    name: 'prod',
    orchestratorVersion: 'v1.36.4',
    datastore: { mode: 'dedicated', storageGiB: 1, ...datastore },
  });
  const admin = await adminOf(owner, 'prod');
  await putSeed(admin);
  return { ...qd, admin, members: () => membersOf(dataDir), list: () => listMaps(admin) };
}

export const listMaps = async (admin: Way) => (await kube(admin, 'GET', maps)).body.items;

/** The members of the only cluster, as their files and they themselves tell. */
export async function membersOf(dataDir: string) {
  const [cluster] = await readdir(await runOf(dataDir));
  const store = join(dataDir, 'clusters', 'stores', cluster!, 'etcd-1');
  const file = JSON.parse(await readFile(join(store, 'members.json'), 'utf8')) as MembersFile;
  const dir = join(await runOf(dataDir), cluster!);
  const keysDir = join(dir, (await readdir(dir)).find((name) => name.startsWith('keys-'))!);
  const read = (name: string) => readFile(join(keysDir, name), 'utf8');
  const keys = {
    authority: { certificate: await read('etcd-authority.crt'), key: '' },
    client: { certificate: await read('etcd-client.crt'), key: await read('etcd-client.key') },
  };
  const records = (await recordsIn(dataDir)) as (Recorded & { name?: string })[];
  return Promise.all(
    file.members.map(async ({ name, clientPort, gatewayPort }) => {
      const client = openEtcdClient({ clientPort, gatewayPort }, keys);
      const status = await client.status().catch(() => undefined);
      client.close();
      const isLeader = status !== undefined && status.leader === status.memberId;
      const ask = (path: string, body: object) => askGateway(gatewayPort, keys, path, body);
      return { name, isLeader, status, ask, pid: records.find((record) => record.name === `etcd-1-${name}`)?.pid };
    }),
  );
}

/** For what Quarterdeck itself never asks. */
const askGateway = (port: number, { authority, client }: Pick<EtcdKeys, 'authority' | 'client'>, path: string, body: object) =>
  new Promise<void>((resolve, reject) => {
    const tls = { ca: authority.certificate, cert: client.certificate, key: client.key, agent: false };
    const request = https.request({ host: '127.0.0.1', port, method: 'POST', path, ...tls }, (answer) => {
      answer.resume().once('end', () => (answer.statusCode === 200 ? resolve() : reject(new Error(`${path}: ${answer.statusCode}`))));
    });
    request.on('error', reject).end(JSON.stringify(body));
  });
