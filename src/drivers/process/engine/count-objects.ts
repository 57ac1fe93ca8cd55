import { append } from '../../../kernel/steps.ts';
import { ClusterError } from '../../cluster-error.ts';
import type { ApiResponse } from '../../driver.ts';
import type { Wanted } from '../clients/ask.ts';
import { expectedObjects, type Listing, listingsOf } from '../rules/count-objects.ts';

const MiB = 2 ** 20;

/** A page is parsed in one piece, in which the server does nothing else: a few objects of a tenant may have hundreds of thousands of fields. */
const limits = { page: 100, pageBytes: 2 * MiB, objectBytes: 32 * MiB, attempts: 3, pages: 100_000 };

const whole = 'application/json';
/** What is counted has a uid. The second choice is for what has no metadata alone. */
const metadataOnly = `application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,${whole}`;

/** Reads from the API that is counted. */
export type Read = (path: string, wanted: Wanted) => Promise<ApiResponse>;

interface Counted {
  listed: number;
  expected: number;
}

/**
 * Lists every object of a control plane, and compares with the keys in its store. Its own controllers still make and remove objects while it
 * starts, so a difference is looked at again. `folders`: how many keys are in each folder of the store now.
 */
export async function countObjects(read: Read, folders: () => Promise<ReadonlyMap<string, number>>, signal: AbortSignal): Promise<Counted> {
  for (let attempt = 1; ; attempt++) {
    const listings = await findListings(read, signal);
    const seen = new Set<string>();
    for (const { path } of listings)
      for await (const { metadata } of itemsOf(read, path, metadataOnly, signal)) if (metadata?.uid) seen.add(metadata.uid);
    const counted = { listed: seen.size, expected: expectedObjects(await folders(), listings) };
    if (counted.listed === counted.expected || attempt === limits.attempts) return counted;
  }
}

// biome-ignore lint/suspicious/noExplicitAny: Kubernetes' objects, of many shapes
async function get(read: Read, path: string): Promise<any> {
  const { status, body } = await read(path, { accept: whole, maxBytes: limits.objectBytes });
  if (status !== 200) throw new ClusterError(`its control plane answers ${status} to GET ${path.split('?')[0]}`);
  return body;
}

interface CustomResource {
  spec: { group: string; names: { plural: string }; conversion?: { strategy?: string } };
}

/** The lists of every group in its preferred version. What a program of the tenant would have to answer or to convert is not there to be asked. */
async function findListings(read: Read, signal: AbortSignal): Promise<Listing[]> {
  const groups = await get(read, '/apis');
  const foreign = new Set<string>();
  for await (const { spec } of itemsOf(read, '/apis/apiregistration.k8s.io/v1/apiservices', whole, signal))
    if (spec?.service) foreign.add(spec.group);
  const converted = new Set<string>();
  for await (const { spec } of itemsOf<CustomResource>(read, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', whole, signal))
    if (spec.conversion?.strategy === 'Webhook') converted.add(`${spec.group}/${spec.names.plural}`);
  const listings = listingsOf('v1', (await get(read, '/api/v1')).resources ?? []);
  for (const { name, preferredVersion } of groups.groups ?? []) {
    if (foreign.has(name)) continue;
    const { groupVersion } = preferredVersion;
    append(listings, listingsOf(groupVersion, (await get(read, `/apis/${groupVersion}`)).resources ?? []));
  }
  return listings.filter(({ folder }) => !converted.has(folder));
}

/** In pages: a tenant's objects have any size and number. One that is too large for a page is read alone. */
// biome-ignore lint/suspicious/noExplicitAny: Kubernetes' objects, of many shapes
async function* itemsOf<Item = any>(read: Read, path: string, accept: string, signal: AbortSignal): AsyncGenerator<Item> {
  let next = '';
  let size = limits.page;
  let maxBytes = limits.pageBytes;
  for (let page = 0; page < limits.pages; page++) {
    signal.throwIfAborted();
    const asked = `${path}?limit=${size}${next && `&continue=${encodeURIComponent(next)}`}`;
    const { status, body } = await read(asked, { accept, maxBytes });
    // Large objects: fewer of them at a time.
    if (status !== 200 && size > 1) {
      size = Math.ceil(size / 5);
      continue;
    }
    if (status === 413 && maxBytes < limits.objectBytes) {
      maxBytes = limits.objectBytes;
      continue;
    }
    if (status !== 200) throw new ClusterError(`its control plane answers ${status} to GET ${path}`);
    yield* body.items ?? [];
    next = body.metadata?.continue ?? '';
    if (!next) return;
    size = Math.min(2 * size, limits.page);
    maxBytes = limits.pageBytes;
  }
  throw new ClusterError(`its control plane does not come to the end of ${path}`);
}
