import type { Descriptor, Unheard } from '../../engine/pull-through/types.ts';
import { covers, may } from '../../rules/access.ts';
import { artifactTypeOf, mediaTypes } from '../../rules/manifest.ts';
import { isDigest } from '../../rules/names.ts';
import { catalogScope } from '../../rules/scope.ts';
import { referrersOf, tagNames } from '../../store/manifests.ts';
import { catalogOf } from '../../store/repositories.ts';
import { type Call, knownRepository, permit, repositoryAt, unknownName } from './call.ts';
import { challenge } from './challenge.ts';
import { OciError } from './errors.ts';

const most = 10_000;
const referrersSlice = { most: 500, mostBytes: 4 * 1024 * 1024 };

function sendJson({ response, method }: Call, value: unknown, type = 'application/json') {
  const body = JSON.stringify(value);
  response.setHeader('Content-Type', type);
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.end(method === 'HEAD' ? undefined : body);
}

/** How many, and after which; n=0 asks for none. */
function readSlice({ query }: Call): { n: number; last: string } {
  const given = query.get('n');
  if (given !== null && !/^\d{1,9}$/.test(given)) throw new OciError('UNSUPPORTED', 'n is a whole number', { status: 400 });
  return { n: given === null ? most : Math.min(Number(given), most), last: query.get('last') ?? '' };
}

/** What the upstream did not say is told with what is here. */
const warn = ({ response }: Call, unheard: Unheard | undefined) => {
  if (unheard) response.setHeader('Warning', `299 - "${unheard.warning}"`);
};

function without(query: URLSearchParams, name: string): URLSearchParams {
  const rest = new URLSearchParams(query);
  rest.delete(name);
  return rest;
}

const setNextLink = ({ response }: Call, path: string, query: Record<string, string> | URLSearchParams) =>
  response.setHeader('Link', `<${path}?${new URLSearchParams(query)}>; rel="next"`);

export async function listTags(call: Call, name: string): Promise<void> {
  const place = permit(call.plane, call.access, name, ['pull']);
  const { n, last } = readSlice(call);
  const repository = await knownRepository(call, place);
  if (repository.upstream_host && n > 0) {
    const listed = await call.plane.cache?.tags(repository, without(call.query, 'ns'));
    if (listed && 'tags' in listed) {
      // An upstream that knows no slices sends everything, every time.
      const all = listed.tags.length > n ? listed.tags.sort().filter((tag) => tag > last) : listed.tags;
      const tags = all.slice(0, n);
      if (all.length > n) setNextLink(call, `/v2/${name}/tags/list`, { n: String(n), last: tags.at(-1)! });
      else if (listed.next) setNextLink(call, `/v2/${name}/tags/list`, listed.next);
      return sendJson(call, { name, tags });
    }
    if (!listed && call.plane.cache?.hostOf(repository.name)) unknownName(place);
    warn(call, listed);
  }
  const found = n === 0 ? [] : await call.plane.app.db.read((tx) => tagNames(tx, repository.id, last, n + 1));
  const tags = found.slice(0, n);
  if (found.length > n && n > 0) setNextLink(call, `/v2/${name}/tags/list`, { n: String(n), last: tags.at(-1)! });
  sendJson(call, { name, tags });
}

/** Everything whose `subject` is this digest, which need not exist here; so an unknown repository has an empty list, too. */
export async function listReferrers(call: Call, name: string, digest: string): Promise<void> {
  const { plane, response, query } = call;
  const place = permit(plane, call.access, name, ['pull']);
  if (!isDigest(digest)) throw new OciError('DIGEST_INVALID', 'a digest is sha256: or sha512: and its hexadecimal digits');
  const repository = await repositoryAt(call, place);
  const wanted = query.get('artifactType');
  const send = (manifests: Descriptor[]) => {
    if (wanted !== null) response.setHeader('OCI-Filters-Applied', 'artifactType');
    const chosen = manifests.filter((m) => wanted === null || m.artifactType === wanted);
    sendJson(call, { schemaVersion: 2, mediaType: mediaTypes.ociIndex, manifests: chosen }, mediaTypes.ociIndex);
  };
  if (repository?.upstream_host) {
    const listed = await plane.cache?.referrers(repository, digest, without(query, 'ns'));
    if (listed && 'manifests' in listed) {
      if (listed.next) setNextLink(call, `/v2/${name}/referrers/${digest}`, listed.next);
      return send(listed.manifests);
    }
    warn(call, listed);
  }
  const after = Number(query.get('last') ?? 0);
  if (!Number.isSafeInteger(after)) throw new OciError('UNSUPPORTED', 'follow the Link of the answer before', { status: 400 });
  const at = repository && { repositoryId: repository.id, subject: digest, after };
  const slice = at ? await plane.app.db.read((tx) => referrersOf(tx, at, referrersSlice)) : [];
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

/** Only what the credential may pull. Names come registry by registry, which is the order of whole names, since slugs are sorted. */
export async function listCatalog(call: Call): Promise<void> {
  const { plane, access } = call;
  if (access.scopes && !access.scopes.has(catalogScope)) throw challenge(plane.app, `${catalogScope}:*`, true);
  const { n, last } = readSlice(call);
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
