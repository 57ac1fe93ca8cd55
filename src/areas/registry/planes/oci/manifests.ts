import type { Tx } from '../../../../kernel/db.ts';
import type { Refusal } from '../../../../kernel/errors.ts';
import { readBody } from '../../../../kernel/http/body.ts';
import type { Access } from '../../rules/access.ts';
import { tell } from '../../events.ts';
import { deletionOf } from '../../engine/find-repository.ts';
import { withRoom } from '../../engine/gc/evict.ts';
import { attachedBy } from '../../rules/attachments.ts';
import { isImmutable } from '../../rules/immutable.ts';
import { indexBounds, parseManifest } from '../../rules/manifest.ts';
import { algorithmOf, isDigest, isTag, looksLikeDigest } from '../../rules/names.ts';
import { settingsOf } from '../../engine/settings.ts';
import { indexesLeadingTo, tagsListing, tagsOf } from '../../store/manifests.ts';
import { lockManifest, removeManifest, removeTag } from '../../store/removal.ts';
import { ensureRepository, type RepositoryRow, repositoryByName } from '../../store/repositories.ts';
import { imagesHeld } from '../../store/retention.ts';
import { type Call, knownRepository, permit, refuseCached, scopeOf, unknownName } from './call.ts';
import { challenge } from './challenge.ts';
import { OciError } from './errors.ts';
import { digestOf, storeManifest } from '../../engine/push/store-manifest.ts';

const manifestUnknown = (reference: string): never => {
  throw new OciError('MANIFEST_UNKNOWN', `the repository has no manifest ${reference}`);
};

function checkReference(reference: string) {
  if (looksLikeDigest(reference)) {
    if (!isDigest(reference)) throw new OciError('DIGEST_INVALID', 'a digest is sha256: or sha512: and its hexadecimal digits');
  } else if (!isTag(reference))
    throw new OciError('TAG_INVALID', 'a tag has at most 128 letters, digits, ".", "_" and "-", and begins with a letter, a digit or "_"');
}

export async function getManifest(call: Call, name: string, reference: string): Promise<void> {
  const { plane, request, response } = call;
  const place = permit(plane, call.access, name, ['pull']);
  checkReference(reference);
  const repository = await knownRepository(call, place);
  const head = call.method === 'HEAD';
  const find = async () => {
    const filled = repository.upstream_host ? await plane.cache?.manifest(repository, reference, { head }) : undefined;
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
  plane.metrics.pulls.inc({ registry: place.slug });
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

  const body = await readBody(request, { maxBytes: settingsOf(plane.app).maxManifestBytes, totalMs: 120_000 }).catch((error: Refusal) => {
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
  const repository = await withRoom(plane.app, place.registryId, () =>
    plane.app.db.write(async (tx) => {
      const target = (await ensureRepository(tx, { registryId: place.registryId, name: place.repository })) ?? unknownName(place);
      await storeManifest(tx, plane.app.caches, { repository: target, digest, body, parsed, tags, by: access.keyId });
      return target;
    }),
  );
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
  const renewable: Access & { again?: () => Access | undefined | Promise<Access | undefined> } = access;
  const current = await (renewable.again ? renewable.again() : plane.authenticate(request));
  if (!current) throw challenge(plane.app, scopeOf(name, ['pull', 'push']));
  permit(plane, current, name, ['push']);
}

/** By digest the manifest goes with its tags, and nothing else: its children and layers age out. By tag only the tag goes. What a tagged
 *  index leads to stays: without it the tag would stand for an image that nobody can pull. */
export async function deleteManifest(call: Call, name: string, reference: string): Promise<void> {
  const { plane, response, access } = call;
  const { app } = plane;
  const place = permit(plane, access, name, ['delete']);
  checkReference(reference);
  refuseCached(call, place);
  await app.db.write(async (tx) => {
    // Not as it is remembered: a rule that was made this moment holds.
    const repository = (await repositoryByName(tx, place.registryId, place.repository)) ?? manifestUnknown(reference);
    const event = deletionOf(repository, access.keyId);
    if (!isDigest(reference)) {
      refuseImmutable(repository, [reference]);
      const gone = (await removeTag(tx, app.caches, repository, reference)) ?? manifestUnknown(reference);
      return tell(tx, { ...event, digest: gone.digest, tag: reference });
    }
    await lockManifest(tx, repository.id, reference);
    refuseImmutable(repository, await tagsOf(tx, repository.id, reference));
    await refuseListed(tx, repository, reference);
    const leaving = { delaySeconds: settingsOf(app).gcDelaySeconds };
    if (!(await removeManifest(tx, app.caches, repository, reference, leaving))) manifestUnknown(reference);
    return tell(tx, { ...event, digest: reference });
  });
  response.statusCode = 202;
  response.setHeader('Content-Length', 0);
  response.end();
}

/** An image may be in many indexes; more than these are not looked at one by one. */
const mostIndexes = 10_000;

/** A list of referrers is no image, and whoever removes one from it may begin with either; unless its tag is immutable, or names an
 *  image that nobody in the registry has. */
async function refuseListed(tx: Tx, repository: RepositoryRow, digest: string) {
  const bounds = { most: mostIndexes + 1, depth: indexBounds.depth + 1 };
  const indexes = await indexesLeadingTo(tx, repository.id, digest, bounds);
  const listing = await tagsListing(tx, [...new Set(indexes.map((index) => index.id))]);
  const attaching = new Map(listing.map((index) => [index, attachedBy(index.tag, index)]));
  const named = [...new Set(attaching.values())].filter((image) => image !== undefined);
  const held = new Set(await imagesHeld(tx, repository.registry_id, named));
  const found = listing.find((index) => {
    const image = attaching.get(index);
    return image === undefined || !held.has(image) || isImmutable(repository.immutable_tags, repository.name, index.tag);
  });
  if (found)
    throw new OciError('DENIED', `the index ${found.digest}, tagged ${found.tag}, leads to this image; delete that first`, {
      detail: { index: found.digest, tag: found.tag },
    });
  if (indexes.length > mostIndexes || indexes.some((index) => index.depth > indexBounds.depth))
    throw new OciError('DENIED', 'too many indexes lead to this image to tell whether one of them has a tag; delete those first');
}

function refuseImmutable(repository: RepositoryRow, tags: readonly string[]) {
  const fixed = tags.find((tag) => isImmutable(repository.immutable_tags, repository.name, tag));
  if (fixed !== undefined)
    throw new OciError('DENIED', `the tag ${fixed} is immutable in this registry; change the registry's rules first`);
}
