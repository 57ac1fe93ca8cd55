import type { Refusal } from '../../../../kernel/errors.ts';
import { holdUntilAnswered, readBody } from '../../../../kernel/http/body.ts';
import * as deletion from '../../engine/deletion.ts';
import { retryWhileUnavailable } from '../../engine/push/database-retry.ts';
import { digestOf, pushManifest } from '../../engine/push/store-manifest.ts';
import { parseManifest } from '../../rules/manifest.ts';
import { algorithmOf, isDigest, isTag, looksLikeDigest } from '../../rules/names.ts';
import { repositoryByName } from '../../store/repositories.ts';
import { challenge } from './challenge.ts';
import { OciError } from './errors.ts';
import { type Call, checkPermission, knownRepository, refuseCached, requireAccess, scopeOf, unknownName } from './request.ts';

const manifestUnknown = (reference: string): never => {
  throw new OciError('MANIFEST_UNKNOWN', `the repository has no manifest ${reference}`);
};

/** For pushes and deletions. A GET of an invalid reference is a plain 404. */
function checkReference(reference: string) {
  if (looksLikeDigest(reference)) {
    if (!isDigest(reference)) throw new OciError('DIGEST_INVALID', 'a digest is sha256: or sha512: and its hexadecimal digits');
  } else if (!isTag(reference))
    throw new OciError('TAG_INVALID', 'a tag has at most 128 letters, digits, ".", "_" and "-", and begins with a letter, a digit or "_"');
}

export async function getManifest(call: Call, name: string, reference: string): Promise<void> {
  const { plane, request, response } = call;
  const address = requireAccess(plane, call.access, name, ['pull']);
  if (!isDigest(reference) && !isTag(reference)) manifestUnknown(reference.slice(0, 200));
  const repository = await knownRepository(call, address);
  const head = call.method === 'HEAD';
  const find = async () => {
    const filled = repository.upstream_host ? await plane.pullThrough?.manifest(repository, reference) : undefined;
    if (filled?.warning) response.setHeader('Warning', `299 - "${filled.warning}"`);
    return plane.contentCache.manifest(repository, reference);
  };
  // A cached image may be evicted between the two steps; the upstream still has it, so it is fetched again.
  const manifest = (await find()) ?? (repository.upstream_host ? await find() : undefined) ?? manifestUnknown(reference);
  response.setHeader('Docker-Content-Digest', manifest.digest);
  response.setHeader('ETag', `"${manifest.digest}"`);
  response.setHeader('Content-Security-Policy', 'sandbox');
  const match = request.headers['if-none-match'];
  if (match !== undefined && (match.includes(manifest.digest) || match === '*')) {
    response.statusCode = 304;
    return void response.end();
  }
  response.setHeader('Content-Type', manifest.media_type);
  response.setHeader('Content-Length', manifest.size);
  if (head) return void response.end();
  const body = (await plane.contentCache.body(repository, manifest)) ?? manifestUnknown(reference);
  plane.metrics.pulls.series(address.slug).count();
  plane.markPulled(manifest.id);
  response.end(body);
}

export async function putManifest(call: Call, name: string, reference: string): Promise<void> {
  const { plane, request, response, query, access } = call;
  const address = requireAccess(plane, access, name, ['push']);
  refuseCached(call, address);
  checkReference(reference);
  const extra = query.getAll('tag');
  for (const tag of extra)
    if (!isTag(tag))
      throw new OciError(
        'TAG_INVALID',
        'a tag has at most 128 letters, digits, ".", "_" and "-", and begins with a letter, a digit or "_"',
      );
  if (extra.length > 100) throw new OciError('TAG_INVALID', 'a manifest is pushed with at most 100 tags at once');

  const held = holdUntilAnswered(plane.app.bodies, { org: access.org, credential: access.keyId }, response);
  const body = await readBody(request, { maxBytes: plane.settings.maxManifestBytes, totalMs: 120_000, held }).catch((error: Refusal) => {
    throw error.status === 400 ? new OciError('MANIFEST_INVALID', error.message) : error;
  });
  await permitStill(call, name);
  const byDigest = isDigest(reference);
  const given = byDigest ? reference : query.get('digest');
  if (given !== null && !isDigest(given)) throw new OciError('DIGEST_INVALID', 'a digest is sha256: or sha512: and its hexadecimal digits');
  const digest = digestOf(body, given === null ? 'sha256' : algorithmOf(given));
  if (given !== null && given !== digest) throw new OciError('DIGEST_INVALID', `the manifest has the digest ${digest}, not ${given}`);
  const parsed = parseManifest(body, request.headers['content-type']);

  const tags = byDigest ? extra : [reference, ...extra];
  const target = { registryId: address.registryId, name: address.repository };
  const pushed = { digest, body, parsed, tags, by: access.keyId };
  const repository =
    (await held.holdWhile(() => pushManifest(plane.app, target, pushed, checkPermission(call, name, ['push'])))) ?? unknownName(address);
  plane.metrics.pushes.inc({ registry: repository.slug });
  response.statusCode = 201;
  response.setHeader('Location', `/v2/${name}/manifests/${byDigest || extra.length > 0 ? digest : reference}`);
  response.setHeader('Docker-Content-Digest', digest);
  if (parsed.subject) response.setHeader('OCI-Subject', parsed.subject);
  if (tags.length > 0) response.setHeader('OCI-Tag', tags);
  response.setHeader('Content-Length', 0);
  response.end();
}

/** A body may take minutes to arrive, and the credential may be revoked meanwhile. The expiry of a bearer token is not checked again. */
async function permitStill({ plane, request, access }: Call, name: string) {
  const current = await retryWhileUnavailable(async () => (access.reload ? access.reload() : plane.authenticate(request)));
  if (!current) throw challenge(plane.app, scopeOf(name, ['pull', 'push']));
  requireAccess(plane, current, name, ['push']);
}

/** By digest: deletes the manifest with its tags. By tag: deletes only the tag. */
export async function deleteManifest(call: Call, name: string, reference: string): Promise<void> {
  const { plane, response, access } = call;
  const { db, caches } = plane.app;
  const address = requireAccess(plane, access, name, ['delete']);
  checkReference(reference);
  refuseCached(call, address);
  await db.write(async (tx) => {
    // Read from the database and not from the cache: a rule changed a moment ago already applies.
    const [, found] = await Promise.all([
      checkPermission(call, name, ['delete'])(tx),
      repositoryByName(tx, address.registryId, address.repository),
    ]);
    const repository = found ?? manifestUnknown(reference);
    const delay = { delaySeconds: plane.settings.gcDelaySeconds };
    const gone = isDigest(reference)
      ? await deletion.deleteManifest(tx, caches, repository, reference, delay)
      : await deletion.deleteTag(tx, caches, repository, reference);
    if (!gone) manifestUnknown(reference);
  });
  response.statusCode = 202;
  response.setHeader('Content-Length', 0);
  response.end();
}
