import { append } from '../../../kernel/steps.ts';
import { ClusterError } from '../../cluster-error.ts';
import type { Ask } from '../../driver.ts';
import { expectedObjects, type Listing, listingsOf } from '../rules/count-objects.ts';

const limits = { page: 100, smallPage: 5, attempts: 3, pages: 100_000 };

interface Counted {
  listed: number;
  expected: number;
}

/**
 * Lists every object of a control plane, and compares with the keys in its store. Its own controllers still make and remove objects while it
 * starts, so a difference is looked at again. `folders`: how many keys are in each folder of the store now.
 */
export async function countObjects(ask: Ask, folders: () => Promise<ReadonlyMap<string, number>>, signal: AbortSignal): Promise<Counted> {
  for (let attempt = 1; ; attempt++) {
    const listings = await findListings(ask, signal);
    const seen = new Set<string>();
    for (const { path } of listings) for await (const { metadata } of itemsOf(ask, path, signal)) if (metadata?.uid) seen.add(metadata.uid);
    const counted = { listed: seen.size, expected: expectedObjects(await folders(), listings) };
    if (counted.listed === counted.expected || attempt === limits.attempts) return counted;
  }
}

// biome-ignore lint/suspicious/noExplicitAny: Kubernetes' objects, of many shapes
async function get(ask: Ask, path: string): Promise<any> {
  const { status, body } = await ask('GET', path);
  if (status !== 200) throw new ClusterError(`its control plane answers ${status} to GET ${path.split('?')[0]}`);
  return body;
}

interface CustomResource {
  spec: { group: string; names: { plural: string }; conversion?: { strategy?: string } };
}

/** The lists of every group in its preferred version. What a program of the tenant would have to answer or to convert is not there to be asked. */
async function findListings(ask: Ask, signal: AbortSignal): Promise<Listing[]> {
  const groups = await get(ask, '/apis');
  const foreign = new Set<string>();
  for await (const { spec } of itemsOf(ask, '/apis/apiregistration.k8s.io/v1/apiservices', signal))
    if (spec?.service) foreign.add(spec.group);
  const converted = new Set<string>();
  for await (const { spec } of itemsOf<CustomResource>(ask, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', signal))
    if (spec.conversion?.strategy === 'Webhook') converted.add(`${spec.group}/${spec.names.plural}`);
  const listings = listingsOf('v1', (await get(ask, '/api/v1')).resources ?? []);
  for (const { name, preferredVersion } of groups.groups ?? []) {
    if (foreign.has(name)) continue;
    const { groupVersion } = preferredVersion;
    append(listings, listingsOf(groupVersion, (await get(ask, `/apis/${groupVersion}`)).resources ?? []));
  }
  return listings.filter(({ folder }) => !converted.has(folder));
}

/** In pages: a tenant's objects have any size and number. */
// biome-ignore lint/suspicious/noExplicitAny: Kubernetes' objects, of many shapes
async function* itemsOf<Item = any>(ask: Ask, path: string, signal: AbortSignal): AsyncGenerator<Item> {
  let next = '';
  let size = limits.page;
  for (let page = 0; page < limits.pages; page++) {
    signal.throwIfAborted();
    const { status, body } = await ask('GET', `${path}?limit=${size}${next && `&continue=${encodeURIComponent(next)}`}`);
    // Large objects: fewer of them at a time.
    if (status !== 200 && size > limits.smallPage) {
      size = limits.smallPage;
      continue;
    }
    if (status !== 200) throw new ClusterError(`its control plane answers ${status} to GET ${path}`);
    yield* body.items ?? [];
    next = body.metadata?.continue ?? '';
    if (!next) return;
  }
  throw new ClusterError(`its control plane does not come to the end of ${path}`);
}
