// Who is measured: Quarterdeck as a process of its own, whichever other registries are installed, and nginx as the limit of pulls.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { memoryFlags } from '../../test/harness/quick-start.ts';

export interface Peer {
  name: string;
  url: string;
  /** Its processes; PostgreSQL is not one of them. */
  pids: number[];
  headers: string[];
  repository: string;
  /** For one that takes no pushes: puts a file where pulls find it. */
  place?: (path: string, file: string) => Promise<void>;
  stop(): Promise<void>;
}

const thisCheckout = fileURLToPath(new URL('../..', import.meta.url));

export const ours = (folder: string): Promise<Peer> => startCheckout(folder, 'quarterdeck', thisCheckout);

/** An installed checkout of another version, if QUARTERDECK_BENCH_BEFORE names one. */
export async function oursBefore(folder: string): Promise<Peer | undefined> {
  const checkout = process.env['QUARTERDECK_BENCH_BEFORE'];
  return checkout ? startCheckout(folder, 'version before', checkout) : undefined;
}

async function startCheckout(folder: string, name: string, checkout: string): Promise<Peer> {
  const data = join(folder, name.replace(' ', '-'));
  const child = spawn(process.execPath, [...memoryFlags, join(checkout, 'bench/registry.ts'), 'server'], {
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
    name,
    url,
    pids: [child.pid!],
    headers: [`Authorization: Bearer ${bearer.token}`],
    repository: 'bench/app',
    stop: () => end(child, false),
  };
}

/** A program on the PATH, or where the environment says; undefined when `--version` does not say what it should. */
function installed(name: string, variable: string, says: RegExp, flag = '--version'): string | undefined {
  const program = process.env[variable] ?? name;
  try {
    return says.test(execFileSync(program, [flag], { stdio: ['ignore', 'pipe', 'pipe'] }).toString()) ? program : undefined;
  } catch {
    return undefined;
  }
}

const somePort = () => 20_000 + (randomBytes(2).readUInt16BE() % 20_000);

async function started(name: string, program: string, args: string[], port: number, more: Partial<Peer> = {}): Promise<Peer> {
  // distribution 3 would try to send a trace of every request, and be slower for it.
  const env = { ...process.env, OTEL_TRACES_EXPORTER: 'none' };
  const child = spawn(program, args, { env, stdio: ['pipe', 'ignore', 'inherit'] });
  const url = `http://127.0.0.1:${port}`;
  for (let i = 0; ; i++) {
    if (child.exitCode !== null || i > 100) throw new Error(`${name} does not answer at ${url}`);
    const answers = await fetch(`${url}/v2/`).then(
      () => true,
      () => new Promise<boolean>((r) => setTimeout(r, 100, false)),
    );
    if (answers) break;
  }
  return { name, url, pids: [child.pid!], headers: [], repository: 'bench/app', stop: () => end(child, true), ...more };
}

const distributionConfig = (root: string, port: number) =>
  `version: 0.1\nlog: {level: error, accesslog: {disabled: true}}\nstorage: {filesystem: {rootdirectory: ${root}}, delete: {enabled: true}}\nhttp: {addr: "127.0.0.1:${port}"}\n`;

/** Debian's docker-registry, version 2. */
export async function distribution2(folder: string): Promise<Peer | undefined> {
  const program = installed('docker-registry', 'QUARTERDECK_BENCH_DISTRIBUTION2', /\b2\.\d/);
  return program ? distribution('distribution 2', program, join(folder, 'distribution2')) : undefined;
}

/** `go install github.com/distribution/distribution/v3/cmd/registry@v3.1.2` */
export async function distribution3(folder: string): Promise<Peer | undefined> {
  const program = installed('registry', 'QUARTERDECK_BENCH_DISTRIBUTION3', /distribution.*\bv?3\.\d/);
  return program ? distribution('distribution 3', program, join(folder, 'distribution3')) : undefined;
}

async function distribution(name: string, program: string, root: string): Promise<Peer> {
  const port = somePort();
  await writeFile(`${root}.yml`, distributionConfig(root, port));
  return started(name, program, ['serve', `${root}.yml`], port);
}

/** A release binary of zot. */
export async function zot(folder: string): Promise<Peer | undefined> {
  const program = installed('zot', 'QUARTERDECK_BENCH_ZOT', /./);
  if (!program) return undefined;
  const port = somePort();
  const config = {
    distSpecVersion: '1.1.1',
    storage: { rootDirectory: join(folder, 'zot'), gc: false },
    http: { address: '127.0.0.1', port: String(port) },
    log: { level: 'error', output: '/dev/null' },
  };
  await writeFile(join(folder, 'zot.json'), JSON.stringify(config));
  return started('zot', program, ['serve', join(folder, 'zot.json')], port);
}

const nginxInstalled = () => installed('nginx', 'QUARTERDECK_BENCH_NGINX', /^/, '-v');

async function startNginx(name: string, root: string, server: string, more: Partial<Peer>): Promise<Peer> {
  const port = somePort();
  await mkdir(root);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((each) => `${each}_temp_path ${root}/${each};`).join(' ');
  await writeFile(
    `${root}.conf`,
    `daemon off; master_process off; pid ${root}/pid; error_log stderr error; events {} http { access_log off; sendfile on; keepalive_requests 1000000; ${temporary} server { listen 127.0.0.1:${port}; ${server} } }`,
  );
  return started(name, nginxInstalled()!, ['-c', `${root}.conf`, '-e', 'stderr'], port, more);
}

/** The same files by sendfile without any authorization: the upper limit of pulls. */
export async function nginx(folder: string): Promise<Peer | undefined> {
  if (!nginxInstalled()) return undefined;
  const root = join(folder, 'nginx');
  const place: Peer['place'] = async (path, file) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await copyFile(file, join(root, path));
  };
  return startNginx('nginx', root, `root ${root};`, { place });
}

/** Settings for nginx in front of Quarterdeck: clients that do not come through it get the bytes from Quarterdeck itself. */
export const accelPath = '/layers';
export const frontAddress = '127.0.0.2';

/** nginx before ours, which decides who may pull, and nginx sends. */
export const nginxBefore =
  (own: Peer) =>
  async (folder: string): Promise<Peer | undefined> => {
    if (!nginxInstalled()) return undefined;
    const { headers, repository, pids } = own;
    const server = `location / { proxy_pass ${own.url}; proxy_bind ${frontAddress}; proxy_http_version 1.1; proxy_set_header Host $http_host; proxy_set_header Connection ""; }
    location ${accelPath}/ { internal; alias ${join(folder, 'ours', 'blobs')}/; etag off; }`;
    // What was pushed to ours is there.
    const front = await startNginx('with X-Accel', join(folder, 'front'), server, { headers, repository, place: async () => {} });
    return { ...front, pids: [...front.pids, ...pids] };
  };

async function end(child: ChildProcess, terminate: boolean) {
  child.stdin?.end();
  const killed = setTimeout(() => child.kill('SIGKILL'), 5_000);
  if (terminate) child.kill('SIGTERM');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  clearTimeout(killed);
}
