import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { type Quarterdeck, quarterdeck } from '../harness/index.ts';

const exec = promisify(execFile);

export interface Client {
  server: Quarterdeck;
  /** What images are named by: host:port/slug. */
  at: string;
  host: string;
  folder: string;
  login: { username: string; password: string };
  /** Runs a program that must end well, and returns what it printed. */
  run(program: string, ...args: string[]): Promise<string>;
  /** Runs one that must not: what it said. */
  fails(program: string, ...args: string[]): Promise<string>;
}

/** A server with a registry, and somebody's login to it, for a program from Debian with a home of its own. */
export async function client(t: TestContext, settings: Record<string, string> = {}): Promise<Client> {
  const server = await quarterdeck(t, { env: settings });
  const made = await server.owner.post('/registry/registries', { slug: 'acme' });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  const login = await server.owner.post('/registry/login-credentials', {});
  if (login.status !== 201) throw new Error(JSON.stringify(login.body));
  const folder = await mkdtemp(join(tmpdir(), 'qdc-'));
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const { host } = new URL(server.url);
  const policy = join(folder, 'policy.json');
  await writeFile(policy, '{"default":[{"type":"insecureAcceptAnything"}]}');
  const env = {
    ...process.env,
    HOME: folder,
    XDG_RUNTIME_DIR: folder,
    REGISTRY_AUTH_FILE: join(folder, 'auth.json'),
    CONTAINERS_STORAGE_CONF: join(folder, 'storage.conf'),
    BUILDAH_ISOLATION: 'chroot',
  };
  await writeFile(
    env.CONTAINERS_STORAGE_CONF,
    `[storage]\ndriver = "vfs"\ngraphroot = "${join(folder, 'graph')}"\nrunroot = "${join(folder, 'run')}"\n`,
  );
  const start = (program: string, args: string[]) =>
    exec(program, args, { env, cwd: folder, timeout: 600_000, maxBuffer: 64 * 1024 * 1024 });
  return {
    server,
    host,
    at: `${host}/acme`,
    folder,
    login: login.body,
    run: async (program, ...args) => {
      const flags = program === 'skopeo' ? ['--policy', policy] : [];
      return start(program, [...flags, ...args]).then(
        ({ stdout }) => stdout,
        (error) => {
          throw new Error(`${program} ${args.join(' ')}: ${error.stderr || error.message}`);
        },
      );
    },
    fails: async (program, ...args) =>
      start(program, args).then(
        () => Promise.reject(new Error(`${program} ${args.join(' ')} ended well`)),
        (error) => String(error.stderr),
      ),
  };
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** An image as a directory in the OCI layout, with a layer of random bytes; what a build would leave behind. */
export async function imageLayout(folder: string, name: string, size: number): Promise<string> {
  const layout = join(folder, name);
  await mkdir(join(layout, 'blobs/sha256'), { recursive: true });
  const tar = tarOf('data.bin', randomBytes(size));
  const layer = gzipSync(tar, { level: 1 });
  const put = async (bytes: Buffer, mediaType: string) => {
    await writeFile(join(layout, 'blobs/sha256', sha256(bytes)), bytes);
    return { mediaType, digest: `sha256:${sha256(bytes)}`, size: bytes.length };
  };
  const config = { architecture: 'amd64', os: 'linux', config: {}, rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(tar)}`] } };
  const manifest = {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: await put(Buffer.from(JSON.stringify(config)), 'application/vnd.oci.image.config.v1+json'),
    layers: [await put(layer, 'application/vnd.oci.image.layer.v1.tar+gzip')],
  };
  const top = await put(Buffer.from(JSON.stringify(manifest)), manifest.mediaType);
  await writeFile(join(layout, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  await writeFile(
    join(layout, 'index.json'),
    JSON.stringify({ schemaVersion: 2, manifests: [{ ...top, annotations: { 'org.opencontainers.image.ref.name': 'latest' } }] }),
  );
  return `oci:${layout}:latest`;
}

export function tarOf(name: string, content: Buffer): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write('0000644\0', 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124);
  header.write('00000000000\0', 136);
  header.write('        ', 148);
  header.write('0', 156);
  header.write('ustar\0', 257);
  header.write('00', 263);
  const sum = header.reduce((a, b) => a + b, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512), Buffer.alloc(1024)]);
}
