import type { Target } from '../../clients/upstream/client.ts';
import { UpstreamUnavailable } from '../../rules/errors.ts';
import { mediaTypes } from '../../rules/manifest.ts';
import { isDigest, isTag } from '../../rules/names.ts';
import { topics } from '../../rules/topics.ts';
import { bodyOf, manifestByTag } from '../../store/manifests.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import type { RefreshManifest } from './manifests.ts';
import type { Descriptor, ReferrerPage, TagPage, Upstreams } from './types.ts';

// A cached repository lists the content of its upstream, not only the images pulled so far. Pagination is the upstream's: the query of its
// Link is sent back unchanged.

export interface UpstreamLists {
  /** Undefined: the upstream does not know the repository. */
  tags(repository: RepositoryRow, target: Target, query: URLSearchParams): Promise<TagPage | undefined>;
  referrers(repository: RepositoryRow, target: Target, digest: string, query: URLSearchParams): Promise<ReferrerPage>;
}

const freshMs = 30_000;
const maxBodyBytes = 8 * 1024 * 1024;
const maxQueryLength = 2_000;

export function makeUpstreamLists({ app, client, cooldown }: Upstreams, refresh: RefreshManifest): UpstreamLists {
  const remembered = app.caches.make<{ page: ListPage | 'none' }>({
    ttlMs: freshMs,
    bytes: { of: ({ page }) => bytesOf(page), most: 32 * 1024 * 1024 },
  });

  /** One page of a list, or `none` for 404. */
  const ask = async (
    repository: RepositoryRow,
    target: Target,
    resource: string,
    query: URLSearchParams,
    accept: string,
  ): Promise<ListPage | 'none'> => {
    const search = query.size ? `?${query}` : '';
    if (search.length > maxQueryLength) return 'none';
    const found = await remembered.get(`${repository.id} ${resource}${search}`, async () => {
      const page = await cooldown.run(target, resource, async () => {
        const answer = await client.request(target, { method: 'GET', resource: resource + search, headers: { accept }, maxBodyBytes });
        if (answer.status !== 200) {
          answer.cancel();
          if (answer.status === 404) return 'none' as const;
          throw new ListRefused(`the upstream ${target.host} answered ${answer.status} for a list`);
        }
        const body = await answer.bytes().catch((error) => {
          throw new UpstreamUnavailable(`the upstream ${target.host} did not send the whole list`, { affectsOneItem: true, cause: error });
        });
        return { size: body.length, value: parseJson(body, target), next: nextOf(answer.headers['link']) };
      });
      return { value: { page }, topics: [topics.repository(repository.id)] };
    });
    return found!.page;
  };

  /** For upstreams without the referrers API: clients store an index under a tag derived from the digest. */
  const tagged = async (repository: RepositoryRow, target: Target, digest: string): Promise<ReferrerPage> => {
    const [algorithm, hex] = digest.split(':') as [string, string];
    const tag = `${algorithm}-${hex.slice(0, 64)}`;
    if ((await refresh(repository, target, tag)).missing) return { manifests: [] };
    const body = await app.db.read(async (tx) => {
      const manifest = await manifestByTag(tx, repository.id, tag);
      return manifest && bodyOf(tx, repository.id, manifest.digest);
    });
    return { manifests: body ? descriptorsIn(parseJson(body, target)) : [] };
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

/** The upstream answers but refuses this list, as some always do. It does not count as unavailable. */
export class ListRefused extends Error {}

interface ListPage {
  size: number;
  value: object;
  next: URLSearchParams | undefined;
}

const bytesOf = (page: ListPage | 'none') => (page === 'none' ? 100 : page.size);

function parseJson(body: Buffer, { host }: Target): object {
  try {
    const value: unknown = JSON.parse(body.toString());
    if (typeof value === 'object' && value !== null) return value;
  } catch {}
  throw new UpstreamUnavailable(`the upstream ${host} sent a list that is not JSON`, { affectsOneItem: true });
}

/** Node accepts 16 KiB of headers in total. */
const maxLinkLength = 16_384;

/** RFC 8288, as registries write it: `</v2/…?n=…&last=…>; rel="next"`. */
function nextOf(link: string | string[] | undefined): URLSearchParams | undefined {
  for (const piece of String(link ?? '')
    .slice(0, maxLinkLength)
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
