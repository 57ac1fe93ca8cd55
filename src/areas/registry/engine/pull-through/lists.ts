import type { Target } from '../../clients/upstream/client.ts';
import { UpstreamAway } from '../../rules/errors.ts';
import { mediaTypes } from '../../rules/manifest.ts';
import { isDigest, isTag } from '../../rules/names.ts';
import { topics } from '../../rules/topics.ts';
import { bodyOf, manifestByTag } from '../../store/manifests.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import type { FreshManifest } from './manifests.ts';
import type { Descriptor, ReferrerPage, TagPage, Upstreams } from './types.ts';

// What a cached repository lists is what its upstream has, not the few images that somebody happened to pull. Pages are the upstream's:
// whatever its Link says comes back to it unchanged.

export interface UpstreamLists {
  /** Undefined: the upstream does not know the repository. */
  tags(repository: RepositoryRow, target: Target, query: URLSearchParams): Promise<TagPage | undefined>;
  referrers(repository: RepositoryRow, target: Target, digest: string, query: URLSearchParams): Promise<ReferrerPage>;
}

const freshMs = 30_000;
const maxBodyBytes = 8 * 1024 * 1024;
const longestQuery = 2_000;

export function makeUpstreamLists({ app, client, away }: Upstreams, fresh: FreshManifest): UpstreamLists {
  const remembered = app.caches.make<{ page: Page | 'none' }>({
    ttlMs: freshMs,
    bytes: { of: ({ page }) => bytesOf(page), most: 32 * 1024 * 1024 },
  });

  /** One page of a list, or `none` for 404. */
  const ask = async (
    repository: RepositoryRow,
    target: Target,
    what: string,
    query: URLSearchParams,
    accept: string,
  ): Promise<Page | 'none'> => {
    const search = query.size ? `?${query}` : '';
    if (search.length > longestQuery) return 'none';
    const found = await remembered.get(`${repository.id} ${what}${search}`, async () => {
      const page = await away.asking(target, what, async () => {
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
      return { value: { page }, topics: [topics.repository(repository.id)] };
    });
    return found!.page;
  };

  /** Of an upstream without the referrers API: clients keep an index under a tag that is made of the digest. */
  const tagged = async (repository: RepositoryRow, target: Target, digest: string): Promise<ReferrerPage> => {
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
      const page = await ask(repository, target, 'tags/list', query, 'application/json');
      if (page === 'none') return undefined;
      const { tags } = page.value as { tags?: unknown };
      return {
        tags: Array.isArray(tags) ? tags.filter((t): t is string => typeof t === 'string' && isTag(t)) : [],
        ...(page.next ? { next: page.next } : {}),
      };
    },
    referrers: async (repository, target, digest, query) => {
      const page = await ask(repository, target, `referrers/${digest}`, query, mediaTypes.ociIndex);
      if (page === 'none') return tagged(repository, target, digest);
      return { manifests: descriptorsIn(page.value), ...(page.next ? { next: page.next } : {}) };
    },
  };
}

/** The upstream answers, but not with this list: some give theirs to nobody. It is not away for that. */
export class NoList extends Error {}

interface Page {
  size: number;
  value: object;
  next: URLSearchParams | undefined;
}

const bytesOf = (page: Page | 'none') => (page === 'none' ? 100 : page.size);

function parsed(body: Buffer, { host }: Target): object {
  try {
    const value: unknown = JSON.parse(body.toString());
    if (typeof value === 'object' && value !== null) return value;
  } catch {}
  throw new UpstreamAway(`the upstream ${host} sent a list that is not JSON`, { isAlone: true });
}

/** RFC 8288, as registries write it: `</v2/…?n=…&last=…>; rel="next"`. */
function nextOf(link: string | string[] | undefined): URLSearchParams | undefined {
  const query = /<[^>?]*\?([^>]*)>\s*;[^,]*\brel="?next"?/.exec(String(link ?? ''))?.[1];
  return query ? new URLSearchParams(query) : undefined;
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
