import { planeHeaders } from '../../../../kernel/http/plane.ts';
import type { Route } from '../../rules/names.ts';
import { apiVersion } from './errors.ts';
import { type Call, noQuery, requireAccess, type SmallBlob } from './request.ts';

// Most pulls ask for manifests and small blobs that are in memory. They are answered synchronously, with all headers in one write, which
// halves the work. Every other request takes the asynchronous path.

export const makeSmallBlob = (digest: string, bytes: Buffer): SmallBlob => ({
  bytes,
  headers: [
    ...apiVersion,
    ...['Docker-Content-Digest', digest],
    ...['ETag', `"${digest}"`],
    ...['Cache-Control', 'max-age=31536000, immutable'],
    ...['Accept-Ranges', 'bytes'],
    ...['Content-Type', 'application/octet-stream'],
    ...['Content-Security-Policy', 'sandbox'],
    ...['Content-Length', String(bytes.length)],
  ],
});

/** False: not in memory, or a partial request; nothing was sent. */
export function sendFromMemory(call: Call, route: Route): boolean {
  const { headers } = call.request;
  if (call.method !== 'GET' || call.query !== noQuery) return false;
  if (headers.range !== undefined || headers['if-none-match'] !== undefined) return false;
  if (route.kind === 'blob') return sendSmallBlob(call, route);
  return route.kind === 'manifest' && sendManifest(call, route);
}

function sendSmallBlob({ plane, request, response, access }: Call, { name, digest }: { name: string; digest: string }): boolean {
  const small = plane.smallBlobs.get(digest);
  if (!small) return false;
  const { slug, registryId, repository: wanted } = requireAccess(plane, access, name, ['pull']);
  const repository = plane.contentCache.inMemory.repository(registryId, wanted);
  if (!repository || !plane.contentCache.inMemory.blob(repository, digest)) return false;
  response.writeHead(200, planeHeaders(request, small.headers)).end(small.bytes);
  plane.metrics.bytes.series(slug, 'out').count(small.bytes.length);
  return true;
}

function sendManifest({ plane, request, response, access }: Call, { name, reference }: { name: string; reference: string }): boolean {
  const { inMemory: known } = plane.contentCache;
  const { slug, registryId, repository: wanted } = requireAccess(plane, access, name, ['pull']);
  const repository = known.repository(registryId, wanted);
  // The upstream of a cached repository may have a newer image.
  if (!repository || repository.upstream_host) return false;
  const manifest = known.manifest(repository, reference);
  const body = manifest && known.body(manifest);
  if (!body) return false;
  const headers = [
    ...apiVersion,
    'Docker-Content-Digest',
    manifest.digest,
    'ETag',
    `"${manifest.digest}"`,
    'Content-Security-Policy',
    'sandbox',
    'Content-Type',
    manifest.media_type,
    'Content-Length',
    String(manifest.size),
  ];
  response.writeHead(200, planeHeaders(request, headers)).end(body);
  plane.metrics.pulls.series(slug).count();
  plane.markPulled(manifest.id);
  return true;
}
