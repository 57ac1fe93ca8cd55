import { frameHeaders } from '../../../../kernel/http/plane.ts';
import type { Route } from '../../rules/names.ts';
import { type Call, noQuery, permit } from './call.ts';
import { apiVersion } from './errors.ts';

// Most pulls ask for manifests and small blobs that lie ready in memory. These are sent at once, without a promise and with all their
// headers in one piece, which is half the work. Whatever needs a second look is answered in the long way.

/** A small blob as it is sent: its own headers, names and values in turn, and its bytes. */
export interface SmallBlob {
  headers: readonly string[];
  bytes: Buffer;
}

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

/** False: it is not in memory, or not all of it is asked for; nothing was sent. */
export function sendRemembered(call: Call, route: Route): boolean {
  const { headers } = call.request;
  if (call.method !== 'GET' || call.query !== noQuery) return false;
  if (headers.range !== undefined || headers['if-none-match'] !== undefined) return false;
  if (route.kind === 'blob') return sendSmallBlob(call, route);
  return route.kind === 'manifest' && sendManifest(call, route);
}

function sendSmallBlob({ plane, request, response, access }: Call, { name, digest }: { name: string; digest: string }): boolean {
  const small = plane.small.get(digest);
  if (!small) return false;
  const { slug, registryId, repository: wanted } = permit(plane, access, name, ['pull']);
  const repository = plane.places.known.repository(registryId, wanted);
  if (!repository || !plane.places.known.blob(repository, digest)) return false;
  response.writeHead(200, frameHeaders(request, small.headers)).end(small.bytes);
  plane.metrics.bytes.series(slug, 'out').count(small.bytes.length);
  return true;
}

function sendManifest({ plane, request, response, access }: Call, { name, reference }: { name: string; reference: string }): boolean {
  const { known } = plane.places;
  const { slug, registryId, repository: wanted } = permit(plane, access, name, ['pull']);
  const repository = known.repository(registryId, wanted);
  // Of a cached image the upstream may have another one by now.
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
  response.writeHead(200, frameHeaders(request, headers)).end(body);
  plane.metrics.pulls.series(slug).count();
  plane.pulled(manifest.id);
  return true;
}
