// A managed load balancer beside haproxy on the same work: bytes that a node sends to many clients, and connections that are opened and closed. Client and
// node are processes of their own, the same for both, and share the processors with what is measured. The cluster's programs are stand-ins: the
// connections do not go through them.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeNode, makeService, untilAddress } from '../../src/areas/clusters/test/balancer/support.ts';
import { installFakes } from '../../test/fakes/kubernetes/index.ts';
import { mainProgram } from '../../test/harness/built.ts';
import { startServer } from '../../test/harness/process.ts';
import type { Caller } from '../../test/harness/request.ts';
import { makeUsable } from './cluster-client.ts';
import { at, figure } from './figure.ts';

const seconds = 3;
const streams = 16;
const callers = 32;
const askEveryMs = 20;
const [pool, node, nodePort, port] = ['127.90.0.0/29', '127.90.1.1', 31_080, 8_080];
const peer = join(import.meta.dirname, 'balancer-peer.ts');

interface Measured {
  megabytes: number;
  connections: number;
  /** Of requests to the API beside the bytes. */
  apiMs: number[];
}

export async function measureBalancer(rounds: number): Promise<void> {
  const haproxy = findHaproxy();
  if (!haproxy) return console.log('skipped: this machine lacks haproxy (the package haproxy of Debian)');
  console.log(
    `${haproxy}; ${availableParallelism()} cores, shared by everything below; load average before: ${loadavg()[0]!.toFixed(1)}\n`,
  );
  const dir = await mkdtemp(join(tmpdir(), 'qd-bench-'));
  await chmod(dir, 0o755);
  await installFakes(join(dir, 'binaries'), ['v1.36.4']);
  const env = {
    QUARTERDECK_CLUSTER_BINARIES: join(dir, 'binaries'),
    QUARTERDECK_ALLOW_PRIVATE_CIDRS: 'node=127.0.0.0/8',
    QUARTERDECK_LOG_LEVEL: 'error',
  };
  const { server, end } = startServer({ dir, env });
  const others: { kill(signal: NodeJS.Signals): unknown }[] = [];
  try {
    await server.ready;
    const owner = await server.owner();
    execFileSync(process.execPath, [mainProgram(), 'admin', 'clusters', 'addresses', 'add', pool, '--loopback'], {
      env: { ...process.env, QUARTERDECK_DATA: join(dir, 'data') },
    });
    const way = await makeUsable(owner, 'prod', { tier: 'large', orchestratorVersion: 'v1.36.4', managedLoadBalancers: { enabled: true } });
    const backend = spawn(process.execPath, [peer, 'serve', node, String(nodePort)], { stdio: ['ignore', 'pipe', 'inherit'] });
    others.push(backend);
    await once(backend.stdout, 'data');
    await makeNode(way, 'worker-1', node);
    await makeService(way, 'web', { ports: [{ port, nodePort }] });
    const ours = { host: await untilAddress(way, 'web'), port };
    const theirs = { host: '127.0.0.1', port: 18_080 };
    const config = join(dir, 'haproxy.cfg');
    await writeFile(
      config,
      `defaults\n mode tcp\n timeout connect 5s\n timeout client 10m\n timeout server 10m\nlisten web\n bind ${theirs.host}:${theirs.port}\n server node ${node}:${nodePort}\n`,
    );
    others.push(spawn('haproxy', ['-db', '-f', config], { stdio: 'ignore' }));
    await sleep(1_000);
    for (const to of [ours, theirs]) await measureOnce(owner, to, 1);
    const seen = { ours: [] as Measured[], theirs: [] as Measured[] };
    for (let round = 0; round < rounds; round++)
      for (const who of round % 2 === 0 ? (['ours', 'theirs'] as const) : (['theirs', 'ours'] as const)) {
        const measured = await measureOnce(owner, who === 'ours' ? ours : theirs, seconds);
        seen[who].push(measured);
        console.log(
          `${round + 1} ${who === 'ours' ? 'quarterdeck' : 'haproxy'}: ${measured.megabytes.toFixed(0)} MB/s, ${measured.connections.toFixed(0)} connections/s; load ${loadavg()[0]!.toFixed(1)}`,
        );
      }
    console.log('');
    for (const who of ['ours', 'theirs'] as const) {
      const times = seen[who].flatMap(({ apiMs }) => apiMs);
      figure(`a request to the API beside the bytes of ${who === 'ours' ? 'quarterdeck' : 'haproxy'}, p50`, at(times, 0.5), 'ms');
      figure('  p99', at(times, 0.99), 'ms');
    }
    compare(`bytes by ${streams} connections, MB/s`, seen, ({ megabytes }) => megabytes);
    compare(`connections by ${callers} callers, one after the other, /s`, seen, ({ connections }) => connections);
    await server.stopped();
  } finally {
    for (const other of others) other.kill('SIGKILL');
    await end();
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

function compare(what: string, seen: { ours: Measured[]; theirs: Measured[] }, of: (measured: Measured) => number): void {
  const [ours, theirs] = [at(seen.ours.map(of), 0.5), at(seen.theirs.map(of), 0.5)];
  figure(`${what}: quarterdeck`, ours, '');
  figure(`${what}: haproxy`, theirs, '');
  figure('  of haproxy’s', ours / theirs, '×', '≥ 0.5', ours / theirs >= 0.5);
}

async function measureOnce(api: Caller, { host, port: to }: { host: string; port: number }, forSeconds: number): Promise<Measured> {
  const run = async (what: string, concurrency: number) => {
    const child = spawn(process.execPath, [peer, what, host, String(to), String(forSeconds), String(concurrency)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text) => (said += text));
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`the client of the measurement ended with ${code}`);
    return Number(said);
  };
  const apiMs: number[] = [];
  let isOver = false;
  const asking = (async () => {
    while (!isOver) {
      const began = performance.now();
      await api.get('/clusters');
      apiMs.push(performance.now() - began);
      await sleep(askEveryMs);
    }
  })();
  const bytes = await run('bytes', streams);
  isOver = true;
  await asking;
  return { megabytes: bytes / 1e6, connections: await run('connections', callers), apiMs };
}

function findHaproxy(): string | undefined {
  try {
    return execFileSync('haproxy', ['-v'], { stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .split(' ')
      .slice(0, 3)
      .join(' ');
  } catch {
    return undefined;
  }
}
