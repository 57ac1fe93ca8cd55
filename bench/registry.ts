/**
 * The registry beside Debian's docker-registry (distribution) on the same disk and machine, interleaved run by run.
 * Ours checks a credential on every request and keeps its tables in a real PostgreSQL with fsync; the other one asks nobody.
 * `npm run bench -- registry [rounds]`; needs curl and wrk, and docker-registry for the comparison.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { areas } from '../src/areas/index.ts';
import { readConfig } from '../src/kernel/config.ts';
import { makeLog } from '../src/kernel/log.ts';
import { keepPostgres } from '../src/kernel/postgres/index.ts';
import { serve } from '../src/serve.ts';

// As bin/hand-over.mjs starts it.
const { memoryFlags } = (await import('../bin/hand-over.mjs' as string)) as { memoryFlags: string[] };
const exec = promisify(execFile);
const MiB = 1024 * 1024;
const manifestType = 'application/vnd.oci.image.manifest.v1+json';

interface Peer {
  name: string;
  url: string;
  pid: number;
  headers: string[];
  repository: string;
  stop(): Promise<void>;
}

async function runServer() {
  const data = process.env['QUARTERDECK_DATA']!;
  const postgres = await keepPostgres({ dataDir: join(data, 'pg') });
  const config = readConfig({ QUARTERDECK_LISTEN: '127.0.0.1:0', QUARTERDECK_RATE_LIMIT: '0', QUARTERDECK_DATA: data }, data).config;
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

async function ours(folder: string): Promise<Peer> {
  const data = join(folder, 'ours');
  const child = spawn(process.execPath, [...memoryFlags, fileURLToPath(import.meta.url), 'server'], {
    env: { ...process.env, QUARTERDECK_DATA: data },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const url = String((await once(child.stdout!, 'data'))[0]).trim();
  const token = (await readFile(join(data, 'owner.token'), 'utf8')).trim();
  const api = async (path: string, body: unknown) => {
    const answer = await fetch(`${url}/api/v1/registry${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Record<string, string>;
  };
  await api('/registries', { slug: 'bench' });
  const { keyId, secret } = await api('/registries/bench/keys', { name: 'bench', mode: 'readwrite' });
  const basic = `Basic ${Buffer.from(`${keyId}:${secret}`).toString('base64')}`;
  const scope = 'repository:bench/app:pull,push';
  const bearer = (await (
    await fetch(`${url}/token?service=${new URL(url).host}&scope=${scope}`, { headers: { authorization: basic } })
  ).json()) as { token: string };
  if (!bearer.token) throw new Error('no bearer token');
  return {
    name: 'quarterdeck',
    url,
    pid: child.pid!,
    headers: [`Authorization: Bearer ${bearer.token}`],
    repository: 'bench/app',
    stop: () => end(child),
  };
}

async function distribution(folder: string): Promise<Peer | undefined> {
  try {
    execFileSync('docker-registry', ['--version']);
  } catch {
    return undefined;
  }
  const port = 20_000 + (randomBytes(2).readUInt16BE() % 20_000);
  const config = join(folder, 'registry.yml');
  await writeFile(
    config,
    `version: 0.1\nlog: {level: error, accesslog: {disabled: true}}\nstorage: {filesystem: {rootdirectory: ${join(folder, 'theirs')}}, delete: {enabled: true}}\nhttp: {addr: "127.0.0.1:${port}"}\n`,
  );
  const child = spawn('docker-registry', ['serve', config], { stdio: ['pipe', 'ignore', 'ignore'] });
  const url = `http://127.0.0.1:${port}`;
  for (let i = 0; i < 100; i++)
    if (
      await fetch(`${url}/v2/`).then(
        (r) => r.ok,
        () => new Promise((r) => setTimeout(r, 100, false)),
      )
    )
      break;
  return { name: 'distribution', url, pid: child.pid!, headers: [], repository: 'bench/app', stop: () => end(child) };
}

async function end(child: ChildProcess) {
  child.stdin?.end();
  const killed = setTimeout(() => child.kill('SIGKILL'), 5_000);
  if (child.spawnfile === 'docker-registry') child.kill('SIGTERM');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  clearTimeout(killed);
}

const cpuSeconds = (pid: number) => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
};
const residentMiB = (pid: number) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;

const curl = (peer: Peer, ...args: string[]) =>
  exec('curl', ['-sS', '--fail', ...peer.headers.flatMap((h) => ['-H', h]), ...args], { maxBuffer: 16 * MiB });

async function push(peer: Peer, file: string, digest: string) {
  const { stdout } = await curl(peer, '-X', 'POST', '-D', '-', '-o', '/dev/null', `${peer.url}/v2/${peer.repository}/blobs/uploads/`);
  const location = new URL(/^location: (\S+)/im.exec(stdout)![1]!, peer.url);
  location.searchParams.set('digest', digest);
  await curl(peer, '-X', 'PUT', '-T', file, '-H', 'Content-Type: application/octet-stream', '-o', '/dev/null', location.href);
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

async function measure(rounds: number) {
  const folder = await mkdtemp(join(tmpdir(), 'qd-bench-'));
  await chmod(folder, 0o755);
  const peers = [await ours(folder), await distribution(folder)].filter((p) => p !== undefined);
  try {
    const idle = residentMiB(peers[0]!.pid);
    console.log(
      `${availableParallelism()} cores, load ${loadavg()[0]!.toFixed(1)}, ${rounds} interleaved rounds, medians; every figure in brackets`,
    );
    const large = join(folder, 'large');
    const largeDigest = await makeFile(large, 1024);
    const config = Buffer.from(JSON.stringify({ architecture: 'amd64', os: 'linux', filler: 'x'.repeat(2_000) }));
    await writeFile(join(folder, 'config'), config);
    const configDigest = `sha256:${createHash('sha256').update(config).digest('hex')}`;
    const type = manifestType;
    const manifest = JSON.stringify({
      schemaVersion: 2,
      mediaType: type,
      config: { mediaType: 'application/vnd.oci.image.config.v1+json', digest: configDigest, size: config.length },
      layers: [{ mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip', digest: largeDigest, size: 1024 * MiB }],
    });
    await writeFile(join(folder, 'manifest'), manifest);
    for (const peer of peers) {
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
    for (let round = 0; round < rounds; round++) {
      for (const peer of round % 2 ? peers.toReversed() : peers) {
        let cpu = cpuSeconds(peer.pid);
        const { stdout } = await curl(
          peer,
          '-o',
          '/dev/null',
          '-w',
          '%{speed_download}',
          `${peer.url}/v2/${peer.repository}/blobs/${largeDigest}`,
        );
        note('pull 1 GiB, MB/s', peer, Number(stdout) / 1e6);
        note('pull 1 GiB, CPU s', peer, cpuSeconds(peer.pid) - cpu);
        const file = join(folder, 'push');
        const digest = await makeFile(file, 256);
        cpu = cpuSeconds(peer.pid);
        const began = performance.now();
        await push(peer, file, digest);
        note('push 256 MiB, MB/s', peer, (256 * MiB) / 1e3 / (performance.now() - began));
        note('push 256 MiB, CPU s', peer, cpuSeconds(peer.pid) - cpu);
        note('manifest GET by tag, /s', peer, await requestsPerSecond(peer, 'manifests/v1'));
        note('small blob GET, /s', peer, await requestsPerSecond(peer, `blobs/${configDigest}`));
      }
    }
    const targets: Record<string, [number, 'least' | 'most']> = {
      'pull 1 GiB, MB/s': [1, 'least'],
      'pull 1 GiB, CPU s': [1, 'most'],
      'push 256 MiB, MB/s': [1, 'least'],
      'manifest GET by tag, /s': [1.5, 'least'],
      'small blob GET, /s': [5, 'least'],
    };
    for (const [what, of] of results) {
      const [mine, theirs] = ['quarterdeck', 'distribution'].map((name) => of.get(name));
      const ratio = theirs && median(mine!) / median(theirs);
      const [target, kind] = targets[what] ?? [undefined, 'least'];
      const verdict =
        ratio === undefined || target === undefined
          ? ''
          : (kind === 'least' ? ratio >= target : ratio <= target)
            ? `target ${target}×: met`
            : `target ${target}×: MISSED`;
      const show = (list: number[] | undefined) =>
        list ? `${median(list).toFixed(2)} [${list.map((v) => v.toFixed(v < 100 ? 2 : 0)).join(' ')}]` : 'not installed';
      console.log(
        `${what.padEnd(26)} quarterdeck ${show(mine)}  distribution ${show(theirs)}  ${ratio === undefined ? '' : `${ratio.toFixed(2)}×`} ${verdict}`,
      );
    }
    await memory(peers[0]!, folder, idle);
  } finally {
    for (const peer of peers) await peer.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** 50 pushes at once of 100 MB each: what they cost in memory. */
async function memory(peer: Peer, folder: string, idle: number) {
  const file = join(folder, 'parallel');
  await makeFile(file, 100);
  let most = idle;
  const watch = setInterval(() => (most = Math.max(most, residentMiB(peer.pid))), 100);
  const start = async () => {
    const { stdout } = await curl(peer, '-X', 'POST', '-D', '-', '-o', '/dev/null', `${peer.url}/v2/${peer.repository}/blobs/uploads/`);
    const location = new URL(/^location: (\S+)/im.exec(stdout)![1]!, peer.url).href;
    await curl(peer, '-X', 'PATCH', '-T', file, '-H', 'Content-Type: application/octet-stream', '-o', '/dev/null', location);
    await curl(peer, '-X', 'DELETE', '-o', '/dev/null', location);
  };
  const outcomes = await Promise.allSettled(Array.from({ length: 50 }, start)).finally(() => clearInterval(watch));
  const failed = outcomes.filter((o) => o.status === 'rejected').length;
  if (failed) console.log(`${failed} of the 50 parallel pushes FAILED`);
  console.log(
    `50 parallel pushes of 100 MiB: ${idle.toFixed(0)} MiB idle, ${most.toFixed(0)} MiB at most: + ${(most - idle).toFixed(0)} MiB (target < 64: ${most - idle < 64 ? 'met' : 'MISSED'})`,
  );
}

if (process.argv[2] === 'server') await runServer();
else await measure(Number(process.argv[3] ?? 5));
