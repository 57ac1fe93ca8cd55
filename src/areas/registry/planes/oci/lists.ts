import type { Descriptor, UpstreamWarning } from '../../engine/pull-through/types.ts';
import { covers, may } from '../../rules/access.ts';
import { artifactTypeOf, mediaTypes } from '../../rules/manifest.ts';
import { isDigest } from '../../rules/names.ts';
import { catalogScope } from '../../rules/scope.ts';
import { referrersOf, tagNames } from '../../store/manifests.ts';
import { catalogOf } from '../../store/repositories.ts';
import { challenge } from './challenge.ts';
import { OciError } from './errors.ts';
import { type Call, knownRepository, repositoryAt, requireAccess, unknownName } from './request.ts';

const maxPageSize = 10_000;
const referrersPage = { maxRows: 500, maxBytes: 4 * 1024 * 1024 };

function sendJson({ response, method }: Call, value: unknown, type = 'application/json') {
  const body = JSON.stringify(value);
  response.setHeader('Content-Type', type);
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.end(method === 'HEAD' ? undefined : body);
}

/** The page size and the last name of the previous page; n=0 asks for none. */
function readPagination({ query }: Call): { n: number; last: string } {
  const given = query.get('n');
  if (given !== null && !/^\d{1,9}$/.test(given)) throw new OciError('UNSUPPORTED', 'n is a whole number', { status: 400 });
  return { n: given === null ? maxPageSize : Math.min(Number(given), maxPageSize), last: query.get('last') ?? '' };
}

/** Passes an upstream's failure to the client as a Warning. */
const warn = ({ response }: Call, upstream: UpstreamWarning | undefined) => {
  if (upstream) response.setHeader('Warning', `299 - "${upstream.warning}"`);
};

function without(query: URLSearchParams, name: string): URLSearchParams {
  const rest = new URLSearchParams(query);
  rest.delete(name);
  return rest;
}

const setNextLink = ({ response }: Call, path: string, query: Record<string, string> | URLSearchParams) =>
  response.setHeader('Link', `<${path}?${new URLSearchParams(query)}>; rel="next"`);

export async function listTags(call: Call, name: string): Promise<void> {
  const address = requireAccess(call.plane, call.access, name, ['pull']);
  const { n, last } = readPagination(call);
  const repository = await knownRepository(call, address);
  if (repository.upstream_host && n > 0) {
    const listed = await call.plane.pullThrough?.tags(repository, without(call.query, 'ns'));
    if (listed && 'tags' in listed) {
      // An upstream without pagination sends everything, every time.
      const all = listed.tags.length > n ? listed.tags.sort().filter((tag) => tag > last) : listed.tags;
      const tags = all.slice(0, n);
      if (all.length > n) setNextLink(call, `/v2/${name}/tags/list`, { n: String(n), last: tags.at(-1)! });
      else if (listed.next) setNextLink(call, `/v2/${name}/tags/list`, listed.next);
      return sendJson(call, { name, tags });
    }
    if (!listed && call.plane.pullThrough?.hostOf(repository.name)) unknownName(address);
    warn(call, listed);
  }
  const found = n === 0 ? [] : await call.plane.app.db.read((tx) => tagNames(tx, repository.id, last, n + 1));
  const tags = found.slice(0, n);
  if (found.length > n && n > 0) setNextLink(call, `/v2/${name}/tags/list`, { n: String(n), last: tags.at(-1)! });
  sendJson(call, { name, tags });
}

/** All manifests whose `subject` is this digest. The digest need not exist, so an unknown repository has an empty list. */
export async function listReferrers(call: Call, name: string, digest: string): Promise<void> {
  const { plane, response, query } = call;
  const address = requireAccess(plane, call.access, name, ['pull']);
  if (!isDigest(digest)) throw new OciError('DIGEST_INVALID', 'a digest is sha256: or sha512: and its hexadecimal digits');
  const repository = await repositoryAt(call, address);
  const wanted = query.get('artifactType');
  const send = (manifests: Descriptor[]) => {
    if (wanted !== null) response.setHeader('OCI-Filters-Applied', 'artifactType');
    const chosen = manifests.filter((m) => wanted === null || m.artifactType === wanted);
    sendJson(call, { schemaVersion: 2, mediaType: mediaTypes.ociIndex, manifests: chosen }, mediaTypes.ociIndex);
  };
  if (repository?.upstream_host) {
    const listed = await plane.pullThrough?.referrers(repository, digest, without(query, 'ns'));
    if (listed && 'manifests' in listed) {
      if (listed.next) setNextLink(call, `/v2/${name}/referrers/${digest}`, listed.next);
      return send(listed.manifests);
    }
    warn(call, listed);
  }
  const after = Number(query.get('last') ?? 0);
  if (!Number.isSafeInteger(after)) throw new OciError('UNSUPPORTED', 'follow the Link of the answer before', { status: 400 });
  const at = repository && { repositoryId: repository.id, subject: digest, after };
  const slice = at ? await plane.app.db.read((tx) => referrersOf(tx, at, referrersPage)) : [];
  const last = slice.at(-1);
  if (last?.more) {
    setNextLink(call, `/v2/${name}/referrers/${digest}`, { last: String(last.id), ...(wanted === null ? {} : { artifactType: wanted }) });
  }
  send(
    slice.map((m) => ({
      mediaType: m.media_type,
      digest: m.digest,
      size: m.size,
      artifactType: artifactTypeOf({ mediaType: m.media_type, artifactType: m.artifact_type, configType: m.config_type }),
      annotations: m.annotations ?? undefined,
    })),
  );
}

/** Only repositories that the credential may pull. Going registry by registry, in the order of slugs, yields the order of whole names. */
export async function listCatalog(call: Call): Promise<void> {
  const { plane, access } = call;
  if (access.scopes && !access.scopes.has(catalogScope)) throw challenge(plane.app, `${catalogScope}:*`, true);
  const { n, last } = readPagination(call);
  const whole = { ...access, scopes: undefined };
  const names: string[] = [];
  for (const [slug, reach] of [...access.registries].sort(([a], [b]) => (`${a}/` < `${b}/` ? -1 : 1))) {
    if (last !== '' && !last.startsWith(`${slug}/`) && last > `${slug}/`) continue;
    let after = last.startsWith(`${slug}/`) ? last.slice(slug.length + 1) : '';
    while (names.length <= n) {
      const slice = await plane.app.db.read((tx) => catalogOf(tx, reach.registryId, after, 1_000));
      for (const { name } of slice) if (covers(reach.prefixes, name) && may(whole, slug, name, 'pull')) names.push(`${slug}/${name}`);
      if (slice.length < 1_000) break;
      after = slice.at(-1)!.name;
    }
    if (names.length > n) break;
  }
  const repositories = names.slice(0, n);
  if (names.length > n && n > 0) setNextLink(call, '/v2/_catalog', { n: String(n), last: repositories.at(-1)! });
  sendJson(call, { repositories });
}
