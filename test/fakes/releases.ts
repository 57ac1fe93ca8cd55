import { createHash } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';

/** A server of release files with checksums beside them, which misbehaves when it is told to. */
export interface Releases {
  url: string;
  /** Paths asked for, in order; of parts with the range. */
  asked: string[];
  /** Bytes of bodies that never end. */
  sent(): number;
  /** What becomes of paths that end so. */
  fail(end: string, fault: Fault): void;
  heal(): void;
}

export type Fault =
  | 'missing'
  /** Other bytes than those of the checksum. */
  | 'altered'
  /** The connection is cut in the middle. */
  | 'cut'
  /** Ends early, and says nothing of it. */
  | 'short'
  /** To the same file below /elsewhere. */
  | 'redirect'
  | 'redirect-to-metadata'
  /** Says that it is larger than any program. */
  | 'huge'
  /** Says nothing of its size, and goes on for ever. */
  | 'endless'
  | 'no-checksum'
  /** Sends all of it whatever part is asked for. */
  | 'no-ranges'
  | 'broken';

/** Programs that say which version they are, and are large enough to be cut. */
const program = (said: string) => Buffer.from(`#!/bin/sh\necho "${said}"\n#${'x'.repeat(200_000)}\n`);

/** A plain file in a tar archive. */
function tarred(name: string, content: Buffer): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write('0000755\0', 100);
  header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124);
  header.write('0', 156);
  header.write('ustar', 257);
  return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
}

/** As etcd's releases have it: the programs stand between others. */
const etcdArchive = (folder: string) =>
  gzipSync(
    Buffer.concat([
      tarred(`${folder}/README.md`, Buffer.from('# etcd\n')),
      tarred(`${folder}/etcd`, program('etcd Version: 3.6.16')),
      tarred(`${folder}/etcdctl`, program('etcdctl version: 3.6.16')),
      tarred(`${folder}/etcdutl`, program('etcdutl version: 3.6.16')),
      Buffer.alloc(1024),
    ]),
    { level: 0 }, // large enough to be cut
  );

export async function releases(t: TestContext, arch = process.arch === 'x64' ? 'amd64' : process.arch): Promise<Releases> {
  const asked: string[] = [];
  const faults = new Map<string, Fault>();
  const fileAt = (path: string): Buffer | undefined => {
    const kubernetes = new RegExp(`^/release/(v[0-9.]+)/bin/linux/${arch}/kube-(?:apiserver|controller-manager|scheduler)$`).exec(path);
    if (kubernetes) return program(`Kubernetes ${kubernetes[1]}`);
    const etcd = /^\/etcd\/(v[0-9.]+)\/(etcd-\1-linux-[a-z0-9]+)\.tar\.gz$/.exec(path)?.[2];
    if (etcd?.endsWith(`-${arch}`)) return etcdArchive(etcd);
    return path === `/kine/v0.14.16/kine-${arch}` ? program('kine version v0.14.16 (fake)') : undefined;
  };
  const textAt = (path: string): Buffer | undefined => {
    const hash = (algorithm: string, file: Buffer) => createHash(algorithm).update(file).digest('hex');
    const [, of = '', algorithm = ''] = /^(.+)\.(sha256|sha512)$/.exec(path) ?? [];
    const file = fileAt(of);
    if (file) return Buffer.from(hash(algorithm, file));
    const sums = /^(\/etcd\/(v[0-9.]+))\/SHA256SUMS$/.exec(path);
    const archive = sums && `etcd-${sums[2]}-linux-${arch}.tar.gz`;
    if (archive) return Buffer.from(`${'0'.repeat(64)}  other.tar.gz\n${hash('sha256', fileAt(`${sums[1]}/${archive}`)!)}  ${archive}\n`);
    const kine = fileAt(path.replace(`sha256sum-${arch}.txt`, `kine-${arch}`));
    return path.endsWith('.txt') && kine
      ? Buffer.from(`${'0'.repeat(64)}  kine-other\n${hash('sha256', kine)}  dist/artifacts/kine-${arch}\n`)
      : undefined;
  };
  let sent = 0;
  const goOnForEver = (response: http.ServerResponse) => {
    const more = () => {
      if (response.destroyed) return;
      sent += 65_536;
      if (response.write(Buffer.alloc(65_536, 'x'))) setImmediate(more);
      else response.once('drain', more);
    };
    more();
  };
  const server = http.createServer((request, response) => {
    const path = request.url!.replace(/^\/elsewhere/, '');
    asked.push(`${request.url}${request.headers.range ? ` ${request.headers.range}` : ''}`);
    const fault = [...faults].find(([end]) => request.url!.endsWith(end))?.[1];
    if (fault === 'redirect' && !request.url!.startsWith('/elsewhere'))
      return response.writeHead(302, { location: `/elsewhere${path}` }).end();
    if (fault === 'redirect-to-metadata') return response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end();
    if (fault === 'broken') return response.writeHead(500).end();
    const found = fault === 'missing' ? undefined : (fileAt(path) ?? textAt(path));
    if (!found) return response.writeHead(404).end();
    const body =
      fault === 'altered' ? Buffer.from(found.toString().replace('xxxx', 'yyyy')) : fault === 'no-checksum' ? Buffer.from('<html>') : found;
    if (fault === 'huge') return response.writeHead(200, { 'content-length': 2 ** 30 }).write(body);
    if (fault === 'endless') return goOnForEver(response.writeHead(200));
    if (fault === 'short') return response.writeHead(200).end(body.subarray(0, 1_000));
    if (fault === 'cut') {
      response.writeHead(200, { 'content-length': body.length });
      return response.write(body.subarray(0, 100_000), () => setImmediate(() => response.destroy()));
    }
    const from = fault === 'no-ranges' ? 0 : Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
    if (from >= body.length) return response.writeHead(416).end();
    const range = from > 0 ? { 'content-range': `bytes ${from}-${body.length - 1}/${body.length}` } : {};
    response.writeHead(from > 0 ? 206 : 200, { 'content-length': body.length - from, ...range }).end(body.subarray(from));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    sent: () => sent,
    fail: (end, fault) => void faults.set(end, fault),
    heal: () => faults.clear(),
  };
}
