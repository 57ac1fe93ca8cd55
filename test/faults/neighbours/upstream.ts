// An upstream of A's, a process of its own with little priority: one repository of very many layers, each made when it is asked for.
import { createHash } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setPriority } from 'node:os';

setPriority(19);

const layerBytes = 2_000_000;
const layers = Array.from({ length: 100 }, (_, i) => Buffer.alloc(layerBytes, `layer ${i} `));
const digestOf = (bytes: Uint8Array | string) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const blobs = new Map<string, Buffer>([...layers, Buffer.from('{}')].map((bytes) => [digestOf(bytes), bytes]));
const manifest = JSON.stringify({
  schemaVersion: 2,
  mediaType: 'application/vnd.oci.image.manifest.v1+json',
  config: { mediaType: 'application/vnd.oci.image.config.v1+json', digest: digestOf('{}'), size: 2 },
  layers: [...blobs].map(([digest, { length }]) => ({ mediaType: 'application/vnd.oci.image.layer.v1.tar', digest, size: length })),
});

const server = http.createServer((request, response) => {
  const [, kind, reference = ''] = /^\/v2\/.+\/(manifests|blobs)\/([^/?]+)/.exec(request.url ?? '') ?? [];
  const body = kind === 'blobs' ? blobs.get(reference) : kind === 'manifests' ? Buffer.from(manifest) : Buffer.from('{}');
  if (!body) return void response.writeHead(404).end('{"errors":[]}');
  response.writeHead(200, {
    'content-type': kind === 'manifests' ? 'application/vnd.oci.image.manifest.v1+json' : 'application/octet-stream',
    'content-length': body.length,
    ...(kind ? { 'docker-content-digest': kind === 'blobs' ? reference : digestOf(manifest) } : {}),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
});
server.listen(0, '127.0.0.1', () =>
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, layers: [...blobs.keys()] }),
);
process.once('disconnect', () => process.exit());
