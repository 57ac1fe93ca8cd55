import type { KubeObject } from '../../rules/kubernetes/object.ts';
import type { Resource } from '../../rules/kubernetes/resources.ts';
import { isEverything, isSelected, nameAskedFor, readSelector, type Selector, selectableOf } from '../../rules/kubernetes/selectors.ts';
import { badRequest, expired, tooLargeVersion } from '../../rules/kubernetes/status.ts';
import { listObjects, type ObjectRow, type SpaceRow } from '../../store/objects.ts';
import type { Call, Reply } from './call.ts';
import { type Cluster, limits } from './cluster.ts';
import { makePresenter } from './present.ts';
import { requireSpace } from './read.ts';

export interface Wanted {
  resource: Resource;
  /** Undefined: of all namespaces. */
  namespace: string | undefined;
  selector: Selector;
}

export function readWanted({ asked: { resource, namespace, query } }: Call): Wanted {
  const selector = readSelector(query.get('labelSelector') ?? '', query.get('fieldSelector') ?? '', resource!);
  return { resource: resource!, namespace: resource!.isNamespaced && namespace !== '' ? namespace : undefined, selector };
}

/** Where a list goes on: behind this place, as of this version. */
interface Continue {
  version: number;
  after: { namespace: string; name: string };
}

const encodeContinue = ({ version, after }: Continue) =>
  Buffer.from(JSON.stringify({ v: 'qd1', rv: version, ns: after.namespace, n: after.name })).toString('base64url');

function readContinue(text: string): Continue | undefined {
  if (text === '') return undefined;
  try {
    const { v, rv, ns, n } = JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, unknown>;
    if (v !== 'qd1' || !Number.isSafeInteger(rv) || typeof ns !== 'string' || typeof n !== 'string') throw new Error();
    if (/\0/.test(ns + n)) throw new Error();
    return { version: rv as number, after: { namespace: ns, name: n } };
  } catch {
    throw badRequest('continue key is not valid: it is none of ours');
  }
}

export function readVersion(text: string): number {
  if (text === '') return 0;
  if (!/^\d{1,15}$/.test(text)) throw badRequest(`Invalid value: ${JSON.stringify(text.slice(0, 100))}: resourceVersion must be a number`);
  return Number(text);
}

/** Whether this version can be answered for. */
function requireVersion(space: SpaceRow, query: URLSearchParams, resumed: Continue | undefined): void {
  if (resumed && resumed.version < space.oldest)
    throw expired(
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.',
    );
  const asked = readVersion(query.get('resourceVersion') ?? '');
  if (asked > space.version) throw tooLargeVersion(asked, space.version);
  if (query.get('resourceVersionMatch') === 'Exact' && asked !== space.version)
    throw expired(
      `The resourceVersion for the provided list is too old: ${asked}; only the newest, ${space.version}, can be asked for exactly`,
    );
}

/** Objects portion by portion, each one statement. A change meanwhile shows in those that follow, and in a watch from the list's version. */
export async function* walkObjects(cluster: Cluster, wanted: Wanted, first: ObjectRow[] | undefined, from: Continue['after'] | undefined) {
  let after = from;
  let rows = first;
  for (;;) {
    rows ??= await readPortion(cluster, wanted, after);
    if (rows.length === 0) return;
    yield rows;
    const last = rows.at(-1)!;
    after = { namespace: last.namespace, name: last.name };
    rows = undefined;
  }
}

const portionOf = ({ resource, namespace, selector }: Wanted, after: Continue['after'] | undefined) => ({
  ...{ resource: resource.storedAs, namespace, name: nameAskedFor(selector), after },
  ...{ rows: limits.portionRows, bytes: limits.portionBytes },
});

const readPortion = (cluster: Cluster, wanted: Wanted, after: Continue['after'] | undefined) =>
  cluster.app.db.read((tx) => listObjects(tx, cluster, portionOf(wanted, after)));

export const isWanted = ({ selector }: Wanted, body: string): boolean =>
  isEverything(selector) || isSelected(selector, selectableOf(JSON.parse(body) as KubeObject));

export async function replyList(cluster: Cluster, call: Call): Promise<Reply> {
  const { query, resource } = call.asked;
  const wanted = readWanted(call);
  const resumed = readContinue(query.get('continue') ?? '');
  const limit = Number(/^\d{1,9}$/.exec(query.get('limit') ?? '')?.[0] ?? 0);
  const { space, first } = await cluster.app.db.read(async (tx) => {
    const known = await requireSpace(tx, cluster);
    requireVersion(known, query, resumed);
    const isEmpty = resource!.manner !== 'kept';
    return { space: known, first: isEmpty ? [] : await listObjects(tx, cluster, portionOf(wanted, resumed?.after)) };
  });
  const presenter = makePresenter(resource!, call.show, space.now);
  return {
    status: 200,
    isWatch: false,
    pieces: writeList(cluster, { wanted, presenter, limit, version: resumed?.version ?? space.version, first, resumed }),
  };
}

interface Listing {
  wanted: Wanted;
  presenter: ReturnType<typeof makePresenter>;
  /** 0: all. */
  limit: number;
  version: number;
  first: ObjectRow[];
  resumed: Continue | undefined;
}

/** The list is never whole in memory: a portion is written before the next is read. */
async function* writeList(cluster: Cluster, { wanted, presenter, limit, version, first, resumed }: Listing): AsyncGenerator<string> {
  let text = presenter.begin;
  let count = 0;
  let bytes = 0;
  let last: ObjectRow | undefined;
  let next: string | undefined;
  walk: for await (const rows of walkObjects(cluster, wanted, first, resumed?.after)) {
    for (const row of rows) {
      if (!isWanted(wanted, row.body)) continue;
      // A slice ends after so many bytes too: whoever asks for slices parses each at once, the house itself included.
      if (limit > 0 && (count === limit || bytes > limits.portionBytes)) {
        next = encodeContinue({ version, after: { namespace: last!.namespace, name: last!.name } });
        break walk;
      }
      text += (count++ > 0 ? ',' : '') + presenter.item(row.body);
      bytes += row.bytes;
      last = row;
    }
    yield text;
    text = '';
  }
  yield text + presenter.end({ resourceVersion: String(version), ...(next ? { continue: next } : {}) });
}
