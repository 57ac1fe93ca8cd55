import type { Refusal } from '../../../../kernel/errors.ts';
import { holdUntilAnswered, readBody } from '../../../../kernel/http/body.ts';
import * as deletion from '../../engine/deletion.ts';
import { patiently } from '../../engine/push/patience.ts';
import { digestOf, pushManifest } from '../../engine/push/store-manifest.ts';
import { parseManifest } from '../../rules/manifest.ts';
import { algorithmOf, isDigest, isTag, looksLikeDigest } from '../../rules/names.ts';
import { repositoryByName } from '../../store/repositories.ts';
import { allow, type Call, knownRepository, permit, refuseCached, scopeOf, unknownName } from './call.ts';
import { challenge } from './challenge.ts';
import { OciError } from './errors.ts';

const manifestUnknown = (reference: string): never => {
  throw new OciError('MANIFEST_UNKNOWN', `the repository has no manifest ${reference}`);
};

/** For what is pushed or deleted. One that is only asked for, and cannot exist, is 404 like any other that does not exist. */
function checkReference(reference: string) {
  if (looksLikeDigest(reference)) {
    if (!isDigest(reference)) throw new OciError('DIGEST_INVALID', 'a digest is sha256: or sha512: and its hexadecimal digits');
  } else if (!isTag(reference))
    throw new OciError('TAG_INVALID', 'a tag has at most 128 letters, digits, ".", "_" and "-", and begins with a letter, a digit or "_"');
}

export async function getManifest(call: Call, name: string, reference: string): Promise<void> {
  const { plane, request, response } = call;
  const place = permit(plane, call.access, name, ['pull']);
  if (!isDigest(reference) && !isTag(reference)) manifestUnknown(reference.slice(0, 200));
  const repository = await knownRepository(call, place);
  const head = call.method === 'HEAD';
  const find = async () => {
    const filled = repository.upstream_host ? await plane.cache?.manifest(repository, reference) : undefined;
    if (filled?.warning) response.setHeader('Warning', `299 - "${filled.warning}"`);
    return plane.places.manifest(repository, reference);
  };
  // A cached image may make room for another between the two: the upstream still has it.
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
  const body = (await plane.places.body(repository, manifest)) ?? manifestUnknown(reference);
  plane.metrics.pulls.series(place.slug).count();
  plane.pulled(manifest.id);
  response.end(body);
}

export async function putManifest(call: Call, name: string, reference: string): Promise<void> {
  const { plane, request, response, query, access } = call;
  const place = permit(plane, access, name, ['push']);
  refuseCached(call, place);
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
  const target = { registryId: place.registryId, name: place.repository };
  const pushed = { digest, body, parsed, tags, by: access.keyId };
  const repository =
    (await held.holdWhile(() => pushManifest(plane.app, target, pushed, allow(call, name, ['push'])))) ?? unknownName(place);
  plane.metrics.pushes.inc({ registry: repository.slug });
  response.statusCode = 201;
  response.setHeader('Location', `/v2/${name}/manifests/${byDigest || extra.length > 0 ? digest : reference}`);
  response.setHeader('Docker-Content-Digest', digest);
  if (parsed.subject) response.setHeader('OCI-Subject', parsed.subject);
  if (tags.length > 0) response.setHeader('OCI-Tag', tags);
  response.setHeader('Content-Length', 0);
  response.end();
}

/** A body may take minutes to come, and the credential may be revoked meanwhile. A bearer token's own end is not judged anew. */
async function permitStill({ plane, request, access }: Call, name: string) {
  const current = await patiently(async () => (access.again ? access.again() : plane.authenticate(request)));
  if (!current) throw challenge(plane.app, scopeOf(name, ['pull', 'push']));
  permit(plane, current, name, ['push']);
}

/** By digest the manifest goes with its tags; by tag only the tag goes. */
export async function deleteManifest(call: Call, name: string, reference: string): Promise<void> {
  const { plane, response, access } = call;
  const { db, caches } = plane.app;
  const place = permit(plane, access, name, ['delete']);
  checkReference(reference);
  refuseCached(call, place);
  await db.write(async (tx) => {
    // Not as it is remembered: a rule that was made this moment holds.
    const [, found] = await Promise.all([allow(call, name, ['delete'])(tx), repositoryByName(tx, place.registryId, place.repository)]);
    const repository = found ?? manifestUnknown(reference);
    const leaving = { delaySeconds: plane.settings.gcDelaySeconds };
    const gone = isDigest(reference)
      ? await deletion.deleteManifest(tx, caches, repository, reference, leaving)
      : await deletion.deleteTag(tx, caches, repository, reference);
    if (!gone) manifestUnknown(reference);
  });
  response.statusCode = 202;
  response.setHeader('Content-Length', 0);
  response.end();
}
