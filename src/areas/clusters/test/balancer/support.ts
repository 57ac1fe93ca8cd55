import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import type { Caller, Quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { ownSockets } from '../../../../kernel/lifecycle/listening-sockets.ts';
import { makeLog } from '../../../../kernel/log.ts';
import type { BalancedCluster } from '../../engine/balancer/listener.ts';
import { addPool } from '../../index.ts';
import { makeBalancers } from '../../planes/balancer/index.ts';
import { type WithPrograms, withPrograms } from '../process/support.ts';
import { adminOf, type KubeAnswer, kube, readyCluster, type Way } from '../support.ts';

/** A block of loopback for each test process, so that those that run at once take nothing from each other. */
const block = `127.${100 + (process.pid % 100)}.${Math.floor(process.pid / 100) % 250}`;
/** Addresses of this machine that nothing listens on. */
export const poolOf = (bits = 29, first = 0): string => `${block}.${first}/${bits}`;
export const poolAddress = (n: number): string => `${block}.${n}`;
export const nodeAddress = (n: number): string => `${block}.${200 + n}`;

export const balancedEnv = { QUARTERDECK_ALLOW_PRIVATE_CIDRS: 'node=127.0.0.0/8' };

interface Alone extends Partial<BalancedCluster> {
  allowed?: string | undefined;
  answerMs?: number;
}

/** Balancer programs without a server around them, and a cluster that is open there. */
export function balancersAlone(t: TestContext, { allowed = 'node=127.0.0.0/8', answerMs, ...given }: Alone) {
  const config = { allow_private_cidrs: allowed, log_level: 'silent' } as Parameters<typeof makeBalancers>[0]['config'];
  const balancers = makeBalancers({ log: makeLog('silent'), sockets: ownSockets, config }, answerMs);
  t.after(() => balancers.stop());
  const cluster = balancers.open({ id: 'cls_1', org: 'org_1', mesh: () => undefined, maxConnections: () => 100, ...given });
  return { balancers, cluster };
}

/** The two ends of a connection. */
export async function pair(t: TestContext): Promise<[near: Socket, far: Socket]> {
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const far = connect({ port: (server.address() as { port: number }).port, host: '127.0.0.1', allowHalfOpen: true });
  const [near] = (await once(server, 'connection')) as [Socket];
  for (const socket of [near, far]) socket.on('error', () => {});
  t.after(() => far.destroy());
  server.close();
  return [near, far];
}

/** Below this process. */
export async function balancerPrograms(above: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,stat=,args=']);
  return stdout.split('\n').flatMap((line) => {
    const [, pid, parent, text] = /^ *(\d+) +(\d+) +[^Z\s]\S* +(.*)$/.exec(line) ?? [];
    return parent === String(above) && /balancer\/program\.[jt]s/.test(text!) ? [Number(pid)] : [];
  });
}

export const addAddresses = ({ app }: Pick<Quarterdeck, 'app'>, network: string): Promise<void> =>
  app.db.write((tx) => addPool(tx, network, { isLoopbackAllowed: true }));

/** A small TCP server as a node's port; `said` has what clients sent it. */
export async function nodeServer(t: TestContext, address: string, port: number, greeting = `${address}\n`) {
  const said: string[] = [];
  const open = new Set<Socket>();
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket.on('close', () => open.delete(socket)).on('error', () => {}));
    // A health check sends nothing and is gone.
    let text = '';
    socket.on('data', (data) => {
      text += data;
    });
    socket.on('end', () => {
      if (text !== '') said.push(text);
      socket.end(text === '' ? '' : `${greeting}${text}`);
    });
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, address, resolve));
  const close = async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  t.after(() => server.listening && close());
  return { said, close };
}

/** Sends a line, ends its side, and reads until the other side ends. */
export async function talk(address: string, port: number, line = 'hello', from?: string): Promise<string> {
  const socket = connect({ host: address, port, allowHalfOpen: true, ...(from ? { localAddress: from } : {}) });
  const failed = new Promise<never>((_, reject) => socket.once('error', reject));
  socket.setTimeout(5_000, () => socket.destroy(new Error(`${address}:${port} did not answer within 5 s`)));
  socket.end(line);
  return Promise.race([readText(socket), failed]);
}

/** The same once the listener is there. */
export const talkUntil = (address: string, port: number, line?: string): Promise<string> =>
  eventually(async () => (await talk(address, port, line).catch(() => '')) || false) as Promise<string>;

interface ServiceOptions {
  ports?: { port: number; nodePort: number; protocol?: string }[];
  annotations?: Record<string, string>;
  spec?: Record<string, unknown>;
}

export const servicesPath = '/api/v1/namespaces/default/services';

export const makeService = (way: Way, name: string, { ports = [], annotations, spec }: ServiceOptions): Promise<KubeAnswer> =>
  kube(way, 'POST', servicesPath, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default', ...(annotations ? { annotations } : {}) },
    spec: { type: 'LoadBalancer', ports: ports.map((each) => ({ protocol: 'TCP', ...each })), ...spec },
  });

export const addressOf = async (way: Way, name: string): Promise<string | undefined> =>
  (await kube(way, 'GET', `${servicesPath}/${name}`)).body.status?.loadBalancer?.ingress?.[0]?.ip;

export const untilAddress = (way: Way, name: string): Promise<string> =>
  eventually(async () => (await addressOf(way, name)) ?? false, { withinMs: 30_000 }) as Promise<string>;

/** The messages of a Service's Events, by reason. */
export async function eventsOf(way: Way, name: string): Promise<Record<string, string>> {
  const { body } = await kube(way, 'GET', '/api/v1/namespaces/default/events');
  const its = body.items.filter((each: { involvedObject: { name: string } }) => each.involvedObject.name === name);
  return Object.fromEntries(its.map((each: { reason: string; message: string }) => [each.reason, each.message]));
}

export const untilEvent = (way: Way, name: string, reason: string): Promise<string> =>
  eventually(async () => (await eventsOf(way, name))[reason] ?? false, { withinMs: 30_000 }) as Promise<string>;

/** A node that is ready, at an address of this machine. */
export async function makeNode(way: Way, name: string, address: string): Promise<void> {
  const made = await kube(way, 'POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name } });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  await setNode(way, name, address, true);
}

export async function setNode(way: Way, name: string, address: string, ready: boolean): Promise<void> {
  const { body } = await kube(way, 'GET', `/api/v1/nodes/${name}`);
  const status = {
    conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    addresses: [{ type: 'InternalIP', address }],
  };
  const shown = await kube(way, 'PUT', `/api/v1/nodes/${name}/status`, { ...body, status });
  assert.equal(shown.status, 200, JSON.stringify(shown.body));
}

export async function balancedCluster(owner: Caller, name = 'prod', tier = 'small'): Promise<Way> {
  await readyCluster(owner, { name, tier, managedLoadBalancers: { enabled: true } });
  return adminOf(owner, name);
}

export const withBalancers = (t: TestContext): Promise<WithPrograms> => withPrograms(t, { env: balancedEnv });
