/**
 * The registry beside distribution 2 (Debian's docker-registry), distribution 3 and zot on the same disk and machine, interleaved run by
 * run, with nginx as the limit of pulls, alone and in front of ours (X-Accel-Redirect); each where it is installed or named by
 * QUARTERDECK_BENCH_DISTRIBUTION2, …3, _ZOT and _NGINX.
 * Ours checks a credential on every request and keeps its tables in a real PostgreSQL with fsync; the others ask nobody.
 * With QUARTERDECK_BENCH_BEFORE, an installed checkout of another version, that one is measured too.
 * `npm run bench -- registry [rounds] [pull,push,requests,memory]`; needs curl and wrk. QUARTERDECK_BENCH_MIB makes the large layer smaller
 * than 1024 MiB.
 */
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { areas } from '../src/areas/index.ts';
import { readConfig } from '../src/kernel/config.ts';
import { makeLog } from '../src/kernel/log.ts';
import { keepPostgres } from '../src/kernel/postgres/index.ts';
import { serve } from '../src/serve.ts';
import { ownPorts } from '../test/harness/own-ports.ts';
import {
  accelPath,
  distribution2,
  distribution3,
  frontAddress,
  nginx,
  nginxBefore,
  ours,
  oursBefore,
  type Peer,
  zot,
} from './registry/peers.ts';

const exec = promisify(execFile);
const MiB = 1024 * 1024;
const manifestType = 'application/vnd.oci.image.manifest.v1+json';
const largeMiB = Number(process.env['QUARTERDECK_BENCH_MIB'] ?? 1024);

async function runServer() {
  const data = process.env['QUARTERDECK_DATA']!;
  const postgres = await keepPostgres({ dataDir: `${data}-database` });
  const env = {
    ...ownPorts,
    QUARTERDECK_LISTEN: '127.0.0.1:0',
    QUARTERDECK_RATE_LIMIT: '0',
    QUARTERDECK_DATA: data,
    QUARTERDECK_ACCEL_REDIRECT: accelPath,
    QUARTERDECK_TRUSTED_PROXIES: frontAddress,
  };
  const { config } = readConfig(env, data);
  const running = await serve({
    config,
    log: makeLog('warn'),
    areas,
    database: { connection: postgres.connection, direct: postgres.connection, embedded: true, stop: async () => {} },
  });
  console.log(running.url);
  process.stdin.resume();
  process.stdin.once('end', async () => {
    await running.stop();
    await postgres.stop();
    process.exit(0);
  });
}

/** Linux counts it in hundredths of a second. */
const cpuSeconds = ({ pids }: Peer) => {
  let ticks = 0;
  for (const pid of pids) {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks / 100;
};
const residentMiB = ({ pids }: Peer) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pids[0]}/status`, 'utf8'))![1]) / 1024;

const curl = (peer: Peer, ...args: string[]) =>
  exec('curl', ['-sS', '--fail', ...peer.headers.flatMap((h) => ['-H', h]), ...args], { maxBuffer: 16 * MiB });

const octets = ['-H', 'Content-Type: application/octet-stream'];

/** Sends a request of an upload; where it goes on. */
async function upload(peer: Peer, url: string, ...args: string[]): Promise<URL> {
  const { stdout } = await curl(peer, ...args, '-D', '-', '-o', '/dev/null', url);
  return new URL(/^location: (\S+)/im.exec(stdout)![1]!, peer.url);
}

const beginUpload = (peer: Peer) => upload(peer, `${peer.url}/v2/${peer.repository}/blobs/uploads/`, '-X', 'POST');

/** All bytes with the PUT that ends the upload, or with a PATCH before it: docker sends them in the second way. */
async function push(peer: Peer, file: string, digest: string, by: 'PUT' | 'PATCH' = 'PUT') {
  let at = await beginUpload(peer);
  if (by === 'PATCH') at = await upload(peer, at.href, '-X', 'PATCH', '-T', file, ...octets);
  at.searchParams.set('digest', digest);
  const body = by === 'PUT' ? ['-T', file, ...octets] : ['-H', 'Content-Length: 0'];
  await curl(peer, '-X', 'PUT', ...body, '-o', '/dev/null', at.href);
}

async function makeFile(path: string, mebibytes: number): Promise<string> {
  const hash = createHash('sha256');
  const file = await open(path, 'w');
  for (let i = 0; i < mebibytes; i++) {
    const bytes = randomBytes(MiB);
    hash.update(bytes);
    await file.write(bytes);
  }
  await file.close();
  return `sha256:${hash.digest('hex')}`;
}

const requestsPerSecond = async (peer: Peer, path: string) => {
  const { stdout } = await exec('wrk', [
    '-t1',
    '-c16',
    '-d4',
    '-H',
    `Accept: ${manifestType}`,
    ...peer.headers.flatMap((h) => ['-H', h]),
    `${peer.url}/v2/${peer.repository}/${path}`,
  ]);
  if (/Non-2xx/.test(stdout)) throw new Error(`${peer.name} ${path}: ${stdout}`);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)![1]);
};

const median = (list: number[]) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]!;

async function measure(rounds: number, parts: ReadonlySet<string>) {
  const folder = await mkdtemp(join(tmpdir(), 'qd-bench-'));
  await chmod(folder, 0o755);
  const peers: Peer[] = [];
  try {
    const own = await ours(folder);
    peers.push(own);
    for (const start of [oursBefore, distribution2, distribution3, zot, nginx, nginxBefore(own)]) {
      const peer = await start(folder);
      if (peer) peers.push(peer);
    }
    const idle = residentMiB(own);
    console.log(
      `${availableParallelism()} cores, load ${loadavg()[0]!.toFixed(1)}, ${rounds} interleaved rounds, medians; every figure in brackets`,
    );
    const large = join(folder, 'large');
    const largeDigest = await makeFile(large, largeMiB);
    const config = Buffer.from(JSON.stringify({ architecture: 'amd64', os: 'linux', filler: 'x'.repeat(2_000) }));
    await writeFile(join(folder, 'config'), config);
    const configDigest = `sha256:${createHash('sha256').update(config).digest('hex')}`;
    const type = manifestType;
    const manifest = JSON.stringify({
      schemaVersion: 2,
      mediaType: type,
      config: { mediaType: 'application/vnd.oci.image.config.v1+json', digest: configDigest, size: config.length },
      layers: [{ mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip', digest: largeDigest, size: largeMiB * MiB }],
    });
    await writeFile(join(folder, 'manifest'), manifest);
    for (const peer of peers) {
      if (peer.place) {
        const at = `v2/${peer.repository}`;
        await peer.place(`${at}/blobs/${largeDigest}`, large);
        await peer.place(`${at}/blobs/${configDigest}`, join(folder, 'config'));
        await peer.place(`${at}/manifests/v1`, join(folder, 'manifest'));
        continue;
      }
      await push(peer, large, largeDigest);
      await push(peer, join(folder, 'config'), configDigest);
      await curl(
        peer,
        '-X',
        'PUT',
        '-T',
        join(folder, 'manifest'),
        '-H',
        `Content-Type: ${type}`,
        `${peer.url}/v2/${peer.repository}/manifests/v1`,
      );
    }
    const results = new Map<string, Map<string, number[]>>();
    const note = (what: string, peer: Peer, value: number) => {
      const of = results.getOrInsertComputed(what, () => new Map<string, number[]>());
      of.set(peer.name, [...(of.get(peer.name) ?? []), value]);
    };
    // Before all else: nginx in front of us opens a connection for every request, and of thousands that were closed V8 keeps tens of MiB.
    if (parts.has('memory')) await memory(own, folder, idle);
    for (let round = 0; round < rounds; round++) {
      for (const peer of round % 2 ? peers.toReversed() : peers) {
        if (parts.has('pull')) {
          const cpu = cpuSeconds(peer);
          const url = `${peer.url}/v2/${peer.repository}/blobs/${largeDigest}`;
          const { stdout } = await curl(peer, '-o', '/dev/null', '-w', '%{speed_download}', url);
          note(`pull ${largeMiB} MiB, MB/s`, peer, Number(stdout) / 1e6);
          note(`pull ${largeMiB} MiB, CPU s`, peer, cpuSeconds(peer) - cpu);
        }
        for (const by of parts.has('push') && !peer.place ? (['PUT', 'PATCH'] as const) : []) {
          const file = join(folder, 'push');
          const size = Math.min(256, largeMiB);
          const digest = await makeFile(file, size);
          await exec('sync'); // nobody waits for the disk because of what was written before
          const [cpu, began] = [cpuSeconds(peer), performance.now()];
          await push(peer, file, digest, by);
          note(`push ${size} MiB by ${by}, MB/s`, peer, (size * MiB) / 1e3 / (performance.now() - began));
          note(`push ${size} MiB by ${by}, CPU s`, peer, cpuSeconds(peer) - cpu);
        }
        if (!parts.has('requests')) continue;
        note('manifest GET by tag, /s', peer, await requestsPerSecond(peer, 'manifests/v1'));
        note('small blob GET, /s', peer, await requestsPerSecond(peer, `blobs/${configDigest}`));
      }
    }
    report(results, peers);
  } finally {
    for (const peer of peers) await peer.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** How often we must do what a peer does (`least`), or may at most. */
const targets: [what: RegExp, than: 'distribution' | 'nginx', times: number, kind: 'least' | 'most'][] = [
  [/^pull .*MB/, 'distribution', 1, 'least'],
  [/^pull .*MB/, 'nginx', 0.95, 'least'],
  [/^pull .*CPU/, 'distribution', 1, 'most'],
  [/^push .*MB/, 'distribution', 1, 'least'],
  [/^push .*CPU/, 'distribution', 1.2, 'most'],
  [/^manifest GET/, 'distribution', 1.5, 'least'],
  [/^small blob GET/, 'distribution', 5, 'least'],
];
/** Of a pull, for each GiB. */
const mostCpu = 0.3;

/** Every figure; targets are against the newest distribution that is installed. */
function report(results: Map<string, Map<string, number[]>>, peers: Peer[]) {
  const newest = peers.findLast((p) => p.name.startsWith('distribution'))?.name;
  if (!newest) console.log('no distribution is installed, so there is nothing to hold the figures against');
  for (const [what, of] of results) {
    const mine = median(of.get('quarterdeck')!);
    console.log(what);
    for (const [name, list] of of) {
      const ratio = mine / median(list);
      const [, , times, kind] =
        targets.find(([pattern, than]) => pattern.test(what) && name === (than === 'nginx' ? 'nginx' : newest)) ?? [];
      const met = kind === 'least' ? ratio >= times! : ratio <= times!;
      const verdict = times === undefined ? '' : `target ${times}×: ${met ? 'met' : 'MISSED'}`;
      const figures = list.map((v) => v.toFixed(v < 100 ? 2 : 0)).join(' ');
      console.log(
        `  ${name.padEnd(15)} ${median(list).toFixed(2).padStart(10)} [${figures}]  ${name === 'quarterdeck' ? '' : `we ${ratio.toFixed(2)}×`} ${verdict}`,
      );
    }
    if (/^pull .*CPU/.test(what)) {
      const perGiB = (mine * 1024) / largeMiB;
      console.log(`  a GiB through us: ${perGiB.toFixed(2)} s (target ${mostCpu}: ${perGiB <= mostCpu ? 'met' : 'MISSED'})`);
    }
  }
}

/** 50 pushes at once of 100 MiB each: what they cost in memory. */
async function memory(peer: Peer, folder: string, idle: number) {
  const file = join(folder, 'parallel');
  const size = Math.min(100, largeMiB);
  await makeFile(file, size);
  let most = idle;
  const watch = setInterval(() => (most = Math.max(most, residentMiB(peer))), 100);
  const start = async () => {
    const { href } = await beginUpload(peer);
    await curl(peer, '-X', 'PATCH', '-T', file, ...octets, '-o', '/dev/null', href);
    await curl(peer, '-X', 'DELETE', '-o', '/dev/null', href);
  };
  const outcomes = await Promise.allSettled(Array.from({ length: 50 }, start)).finally(() => clearInterval(watch));
  const failed = outcomes.filter((o) => o.status === 'rejected').length;
  if (failed) console.log(`${failed} of the 50 parallel pushes FAILED`);
  console.log(
    `50 parallel pushes of ${size} MiB: ${idle.toFixed(0)} MiB idle, ${most.toFixed(0)} MiB at most: + ${(most - idle).toFixed(0)} MiB (target < 64: ${most - idle < 64 ? 'met' : 'MISSED'})`,
  );
}

if (process.argv[2] === 'server') await runServer();
else await measure(Number(process.argv[3] ?? 5), new Set((process.argv[4] ?? 'pull,push,requests,memory').split(',')));
