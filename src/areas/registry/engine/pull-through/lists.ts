import type { Target } from '../../clients/upstream/client.ts';
import { UpstreamAway } from '../../rules/errors.ts';
import { mediaTypes } from '../../rules/manifest.ts';
import { isDigest, isTag } from '../../rules/names.ts';
import { topics } from '../../rules/topics.ts';
import { bodyOf, manifestByTag } from '../../store/manifests.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import type { FreshManifest } from './manifests.ts';
import type { Descriptor, ReferrerSlice, TagSlice, Upstreams } from './types.ts';

// What a cached repository lists is what its upstream has, not the few images that somebody happened to pull. Slices are the upstream's:
// whatever its Link says comes back to it unchanged.

export interface UpstreamLists {
  /** Undefined: the upstream does not know the repository. */
  tags(repository: RepositoryRow, target: Target, query: URLSearchParams): Promise<TagSlice | undefined>;
  referrers(repository: RepositoryRow, target: Target, digest: string, query: URLSearchParams): Promise<ReferrerSlice>;
}

const freshMs = 30_000;
const maxBodyBytes = 8 * 1024 * 1024;
const longestQuery = 2_000;

export function makeUpstreamLists({ app, client, away }: Upstreams, fresh: FreshManifest): UpstreamLists {
  const remembered = app.caches.make<{ slice: ListSlice | 'none' }>({
    ttlMs: freshMs,
    bytes: { of: ({ slice }) => bytesOf(slice), most: 32 * 1024 * 1024 },
  });

  /** One slice of a list, or `none` for 404. */
  const ask = async (
    repository: RepositoryRow,
    target: Target,
    what: string,
    query: URLSearchParams,
    accept: string,
  ): Promise<ListSlice | 'none'> => {
    const search = query.size ? `?${query}` : '';
    if (search.length > longestQuery) return 'none';
    const found = await remembered.get(`${repository.id} ${what}${search}`, async () => {
      const slice = await away.asking(target, what, async () => {
        const answer = await client.ask(target, { method: 'GET', what: what + search, headers: { accept }, maxBodyBytes });
        if (answer.status !== 200) {
          answer.cancel();
          if (answer.status === 404) return 'none' as const;
          throw new NoList(`the upstream ${target.host} answered ${answer.status} for a list`);
        }
        const body = await answer.bytes().catch((error) => {
          throw new UpstreamAway(`the upstream ${target.host} did not send the whole list`, { isAlone: true, cause: error });
        });
        return { size: body.length, value: parsed(body, target), next: nextOf(answer.headers['link']) };
      });
      return { value: { slice }, topics: [topics.repository(repository.id)] };
    });
    return found!.slice;
  };

  /** Of an upstream without the referrers API: clients keep an index under a tag that is made of the digest. */
  const tagged = async (repository: RepositoryRow, target: Target, digest: string): Promise<ReferrerSlice> => {
    const [algorithm, hex] = digest.split(':') as [string, string];
    const tag = `${algorithm}-${hex.slice(0, 64)}`;
    if ((await fresh(repository, target, tag)).missing) return { manifests: [] };
    const body = await app.db.read(async (tx) => {
      const manifest = await manifestByTag(tx, repository.id, tag);
      return manifest && bodyOf(tx, repository.id, manifest.digest);
    });
    return { manifests: body ? descriptorsIn(parsed(body, target)) : [] };
  };

  return {
    tags: async (repository, target, query) => {
      const slice = await ask(repository, target, 'tags/list', query, 'application/json');
      if (slice === 'none') return undefined;
      const { tags } = slice.value as { tags?: unknown };
      return {
        tags: Array.isArray(tags) ? tags.filter((t): t is string => typeof t === 'string' && isTag(t)) : [],
        ...(slice.next ? { next: slice.next } : {}),
      };
    },
    referrers: async (repository, target, digest, query) => {
      const slice = await ask(repository, target, `referrers/${digest}`, query, mediaTypes.ociIndex);
      if (slice === 'none') return tagged(repository, target, digest);
      return { manifests: descriptorsIn(slice.value), ...(slice.next ? { next: slice.next } : {}) };
    },
  };
}

/** The upstream answers, but not with this list: some give theirs to nobody. It is not away for that. */
export class NoList extends Error {}

interface ListSlice {
  size: number;
  value: object;
  next: URLSearchParams | undefined;
}

const bytesOf = (slice: ListSlice | 'none') => (slice === 'none' ? 100 : slice.size);

function parsed(body: Buffer, { host }: Target): object {
  try {
    const value: unknown = JSON.parse(body.toString());
    if (typeof value === 'object' && value !== null) return value;
  } catch {}
  throw new UpstreamAway(`the upstream ${host} sent a list that is not JSON`, { isAlone: true });
}

/** Node takes 16 KiB of headers in all. */
const longestLink = 16_384;

/** RFC 8288, as registries write it: `</v2/…?n=…&last=…>; rel="next"`. */
function nextOf(link: string | string[] | undefined): URLSearchParams | undefined {
  for (const piece of String(link ?? '')
    .slice(0, longestLink)
    .split('<')
    .slice(1)) {
    const [target = '', parameters = ''] = piece.split('>', 2);
    const query = target.slice(target.indexOf('?') + 1);
    const isNext = parameters
      .split(',', 1)[0]!
      .split(';')
      .some((each) => /^rel="?next"?$/i.test(each.trim()));
    if (isNext && target.includes('?') && query) return new URLSearchParams(query);
  }
  return undefined;
}

function descriptorsIn(index: object): Descriptor[] {
  const { manifests } = index as { manifests?: unknown };
  if (!Array.isArray(manifests)) return [];
  return manifests.filter(
    (m): m is Descriptor =>
      typeof m === 'object' &&
      m !== null &&
      typeof m.mediaType === 'string' &&
      typeof m.digest === 'string' &&
      isDigest(m.digest) &&
      Number.isSafeInteger(m.size),
  );
}
