import { createHash, randomBytes } from 'node:crypto';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';

/** A small registry on loopback, with a token service and a separate place for blobs, that fails when it is told to. */
export interface UpstreamRegistry {
  url: string;
  /** Pushes an image of these layers under a tag; returns its digests. */
  image(repository: string, tag: string, layers: Buffer[], more?: Record<string, unknown>): Image;
  /** Pushes any manifest, such as an index; returns its digest. */
  manifest(repository: string, tag: string, body: Buffer): string;
  untag(repository: string, tag: string): void;
  /** The next requests whose path holds `path` go wrong; with `method`, only those of that method. */
  fail(path: string, fault: Fault, times?: number, method?: string): void;
  heal(): void;
  /** Every request, as `METHOD path`. */
  seen: string[];
  /** Requests at the place of blobs, with the headers they came with. */
  elsewhere: { path: string; headers: http.IncomingHttpHeaders }[];
  /** Requests at the place of blobs whose answer has not ended. */
  pending(): number;
  count(start: string): number;
  /** Lets go whatever waits at a gate. */
  gate: { close(): void; open(): void };
  /** Where it sends its clients for tokens and for blobs, when that is not itself. */
  point(to: { realm?: string; blobs?: string }): void;
  /** From now on only this login is taken; without it everybody may pull. */
  requireLogin(username: string, password: string): void;
  /** Like registries from before version 1.1 of the specification. */
  forgetReferrers(): void;
}

export type Fault =
  | { status: number; headers?: Record<string, string> }
  | { cutAfter: number; ignoresRange?: true }
  | { content: Buffer }
  | { byteEveryMs: number }
  | 'silent';

export interface Image {
  digest: string;
  manifest: Buffer;
  config: string;
  layers: string[];
}

export const sha256 = (bytes: Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
export const ociIndex = 'application/vnd.oci.image.index.v1+json';
export const ociImage = 'application/vnd.oci.image.manifest.v1+json';

export async function upstreamRegistry(t: TestContext): Promise<UpstreamRegistry> {
  const blobs = new Map<string, Buffer>();
  const manifests = new Map<string, Buffer>();
  const tags = new Map<string, string>();
  const tokens = new Set<string>();
  const seen: string[] = [];
  const elsewhere: UpstreamRegistry['elsewhere'] = [];
  let faults: { path: string; fault: Fault; left: number; method: string | undefined }[] = [];
  let login: string | undefined;
  let pointed: { realm?: string; blobs?: string } = {};
  let gate = Promise.resolve();
  let openGate = () => {};
  let knowsReferrers = true;
  let pending = 0;

  const listen = async (handler: (request: IncomingMessage, response: ServerResponse) => Promise<void>) => {
    const server = http.createServer((request, response) => void handler(request, response).catch(() => response.destroy()));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      openGate();
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };

  const faultFor = (path: string, method = 'GET') => {
    const found = faults.find((f) => f.left > 0 && path.includes(f.path) && (f.method ?? method) === method);
    if (found) found.left--;
    return found?.fault;
  };

  const send = async (
    request: IncomingMessage,
    response: ServerResponse,
    content: Buffer,
    headers: Record<string, string>,
    fault: Fault | undefined,
  ) => {
    if (fault === 'silent') return;
    if (fault && 'status' in fault) return void response.writeHead(fault.status, fault.headers).end();
    const body = fault && 'content' in fault ? fault.content : content;
    const knowsRange = !(fault && 'cutAfter' in fault && fault.ignoresRange);
    const from = Number(/^bytes=(\d+)-$/.exec((knowsRange && request.headers.range) || '')?.[1] ?? 0);
    const rest = body.subarray(from);
    const range = from ? { 'content-range': `bytes ${from}-${body.length - 1}/${body.length}` } : {};
    response.writeHead(from ? 206 : 200, { ...headers, ...range, 'content-length': rest.length });
    if (request.method === 'HEAD') return void response.end();
    if (fault && 'cutAfter' in fault) {
      response.write(rest.subarray(0, fault.cutAfter), () => response.destroy());
      return;
    }
    if (fault && 'byteEveryMs' in fault) {
      for (let at = 0; at < rest.length && !response.destroyed; at++) {
        response.write(rest.subarray(at, at + 1));
        await setTimeout(fault.byteEveryMs);
      }
      return void response.end();
    }
    response.write(rest.subarray(0, Math.floor(rest.length / 2)));
    await gate;
    response.end(rest.subarray(Math.floor(rest.length / 2)));
  };

  const storage = await listen(async (request, response) => {
    const path = request.url!.slice(1);
    elsewhere.push({ path, headers: request.headers });
    pending++;
    response.once('close', () => pending--);
    await send(
      request,
      response,
      blobs.get(path)!,
      { 'content-type': 'application/octet-stream' },
      faultFor(`storage/${path}`, request.method),
    );
  });

  const url = await listen(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://here');
    seen.push(`${request.method} ${pathname}`);
    const fault = faultFor(pathname, request.method);
    if (fault && fault !== 'silent' && 'status' in fault) return void response.writeHead(fault.status, fault.headers).end();
    if (pathname === '/token') {
      const given = request.headers.authorization;
      if ((given || login) && given !== login) return void response.writeHead(401).end('{}');
      const token = `${randomBytes(8).toString('hex')}.${searchParams.get('scope') ?? ''}`;
      tokens.add(token);
      return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ token, expires_in: 300 }));
    }
    const token = request.headers.authorization?.replace(/^Bearer /, '');
    const [, name, kind, reference] = /^\/v2\/(.+)\/(manifests|blobs|tags|referrers)\/([^/]+)$/.exec(pathname) ?? [];
    const scope = name ? `repository:${name}:pull` : '';
    if (!token || !tokens.has(token) || !token.endsWith(scope)) {
      const challenge = `Bearer realm="${pointed.realm ?? `${url}/token`}",service="fake"${scope ? `,scope="${scope}"` : ''}`;
      return void response.writeHead(401, { 'www-authenticate': challenge, 'content-type': 'application/json' }).end('{"errors":[]}');
    }
    if (pathname === '/v2/') return void response.end('{}');
    if (kind === 'tags') {
      const all = [...tags.keys()].filter((t) => t.startsWith(`${name}:`)).map((t) => t.slice(name!.length + 1));
      if (!all.length) return void response.writeHead(404).end('{"errors":[{"code":"NAME_UNKNOWN"}]}');
      const left = all.sort().filter((tag) => tag > (searchParams.get('last') ?? ''));
      const slice = left.slice(0, Number(searchParams.get('n') ?? left.length));
      if (slice.length < left.length)
        response.setHeader('link', `<${pathname}?n=${slice.length}&last=${slice.at(-1)}&theirs=1>; rel="next"`);
      return void response.end(JSON.stringify({ name, tags: slice }));
    }
    if (kind === 'referrers' && knowsReferrers) {
      const found = [...manifests]
        .filter(([key, body]) => key.startsWith(`${name}@`) && JSON.parse(body.toString()).subject?.digest === reference)
        .map(([key, body]) => {
          const { mediaType, artifactType } = JSON.parse(body.toString());
          return { mediaType, digest: key.slice(name!.length + 1), size: body.length, artifactType };
        });
      return void response.end(JSON.stringify({ schemaVersion: 2, mediaType: ociIndex, manifests: found }));
    }
    if (kind === 'manifests') {
      const digest = reference!.includes(':') ? reference! : tags.get(`${name}:${reference}`);
      const body = digest && manifests.get(`${name}@${digest}`);
      if (!body) return void response.writeHead(404).end('{"errors":[{"code":"MANIFEST_UNKNOWN"}]}');
      return send(
        request,
        response,
        body,
        { 'content-type': JSON.parse(body.toString()).mediaType, 'docker-content-digest': digest },
        fault,
      );
    }
    if (kind === 'blobs' && blobs.has(reference!))
      return void response.writeHead(307, { location: `${pointed.blobs ?? storage}/${reference}` }).end();
    response.writeHead(404).end('{"errors":[{"code":"BLOB_UNKNOWN"}]}');
  });

  return {
    url,
    seen,
    elsewhere,
    pending: () => pending,
    count: (start) => seen.filter((s) => s.startsWith(start)).length,
    image: (repository, tag, layers, more = {}) => {
      const config = Buffer.from(JSON.stringify({ made: randomBytes(4).toString('hex') }));
      for (const blob of [config, ...layers]) blobs.set(sha256(blob), blob);
      const described = (bytes: Buffer, mediaType: string) => ({ mediaType, digest: sha256(bytes), size: bytes.length });
      const manifest = Buffer.from(
        JSON.stringify({
          schemaVersion: 2,
          mediaType: ociImage,
          config: described(config, 'application/vnd.oci.image.config.v1+json'),
          layers: layers.map((l) => described(l, 'application/vnd.oci.image.layer.v1.tar')),
          ...more,
        }),
      );
      const digest = sha256(manifest);
      manifests.set(`${repository}@${digest}`, manifest);
      tags.set(`${repository}:${tag}`, digest);
      return { digest, manifest, config: sha256(config), layers: layers.map(sha256) };
    },
    manifest: (repository, tag, body) => {
      manifests.set(`${repository}@${sha256(body)}`, body);
      tags.set(`${repository}:${tag}`, sha256(body));
      return sha256(body);
    },
    untag: (repository, tag) => void tags.delete(`${repository}:${tag}`),
    fail: (path, fault, times = 1, method) => void faults.push({ path, fault, left: times, method }),
    heal: () => {
      faults = [];
    },
    gate: {
      close: () => {
        const closed = Promise.withResolvers<void>();
        gate = closed.promise;
        openGate = closed.resolve;
      },
      open: () => openGate(),
    },
    point: (to) => {
      pointed = to;
    },
    forgetReferrers: () => {
      knowsReferrers = false;
    },
    requireLogin: (username, password) => {
      login = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    },
  };
}
