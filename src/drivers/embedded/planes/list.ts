import { badRequest, expired, tooLargeVersion } from '../../status.ts';
import type { Call, Reply } from '../engine/call.ts';
import { type Cluster, limits } from '../engine/cluster.ts';
import { requireSpace } from '../engine/read.ts';
import type { KubeObject } from '../rules/object.ts';
import type { Resource } from '../rules/resources.ts';
import { isSelected, readSelector, type Selector, selectableOf, selectedName, selectsAll } from '../rules/selectors.ts';
import { listObjects, type ObjectRow, type SpaceRow } from '../store/objects.ts';
import { makePresenter } from './present.ts';

export interface ListQuery {
  resource: Resource;
  /** Undefined: all namespaces. */
  namespace: string | undefined;
  selector: Selector;
}

export function parseListQuery({ requestInfo: { resource, namespace, query } }: Call): ListQuery {
  const selector = readSelector(query.get('labelSelector') ?? '', query.get('fieldSelector') ?? '', resource!);
  return { resource: resource!, namespace: resource!.isNamespaced && namespace !== '' ? namespace : undefined, selector };
}

/** The position after which a list continues, and the version of its first page. */
interface ContinueToken {
  version: number;
  after: { namespace: string; name: string };
}

const encodeContinue = ({ version, after }: ContinueToken) =>
  Buffer.from(JSON.stringify({ v: 'qd1', rv: version, ns: after.namespace, n: after.name })).toString('base64url');

function decodeContinue(text: string): ContinueToken | undefined {
  if (text === '') return undefined;
  try {
    const { v, rv, ns, n } = JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, unknown>;
    if (v !== 'qd1' || !Number.isSafeInteger(rv) || typeof ns !== 'string' || typeof n !== 'string') throw new Error();
    if (/\0/.test(ns + n)) throw new Error();
    return { version: rv as number, after: { namespace: ns, name: n } };
  } catch {
    throw badRequest('continue key is not valid: this server did not issue it');
  }
}

export function parseVersion(text: string): number {
  if (text === '') return 0;
  if (!/^\d{1,15}$/.test(text)) throw badRequest(`Invalid value: ${JSON.stringify(text.slice(0, 100))}: resourceVersion must be a number`);
  return Number(text);
}

/** Throws if the list cannot be answered for the requested version. */
function requireVersion(space: SpaceRow, query: URLSearchParams, resumed: ContinueToken | undefined): void {
  if (resumed && resumed.version < space.oldest)
    throw expired(
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.',
    );
  const requested = parseVersion(query.get('resourceVersion') ?? '');
  if (requested > space.version) throw tooLargeVersion(requested, space.version);
  if (query.get('resourceVersionMatch') === 'Exact' && requested !== space.version)
    throw expired(
      `The resourceVersion for the provided list is too old: ${requested}; only the newest, ${space.version}, can be asked for exactly`,
    );
}

/**
 * Reads objects page by page, one statement per page. Later pages show concurrent changes; a watch from the list's version reports them
 * too.
 */
export async function* readPages(
  cluster: Cluster,
  listQuery: ListQuery,
  firstPage: ObjectRow[] | undefined,
  start: ContinueToken['after'] | undefined,
) {
  let after = start;
  let rows = firstPage;
  for (;;) {
    rows ??= await readPage(cluster, listQuery, after);
    if (rows.length === 0) return;
    yield rows;
    const last = rows.at(-1)!;
    after = { namespace: last.namespace, name: last.name };
    rows = undefined;
  }
}

const pageAfter = ({ resource, namespace, selector }: ListQuery, after: ContinueToken['after'] | undefined) => ({
  resource: resource.storedAs,
  namespace,
  name: selectedName(selector),
  after,
  rows: limits.pageRows,
  bytes: limits.pageBytes,
});

const readPage = (cluster: Cluster, listQuery: ListQuery, after: ContinueToken['after'] | undefined) =>
  cluster.app.db.read((tx) => listObjects(tx, cluster, pageAfter(listQuery, after)));

export const matchesQuery = ({ selector }: ListQuery, body: string): boolean =>
  selectsAll(selector) || isSelected(selector, selectableOf(JSON.parse(body) as KubeObject));

export async function replyList(cluster: Cluster, call: Call): Promise<Reply> {
  const { query, resource } = call.requestInfo;
  const listQuery = parseListQuery(call);
  const resumed = decodeContinue(query.get('continue') ?? '');
  const limit = Number(/^\d{1,9}$/.exec(query.get('limit') ?? '')?.[0] ?? 0);
  const { space, firstPage } = await cluster.app.db.read(async (tx) => {
    const known = await requireSpace(tx, cluster);
    requireVersion(known, query, resumed);
    const isEmpty = resource!.mode !== 'stored';
    return { space: known, firstPage: isEmpty ? [] : await listObjects(tx, cluster, pageAfter(listQuery, resumed?.after)) };
  });
  const presenter = makePresenter(resource!, call.representation, space.now);
  return {
    status: 200,
    isWatch: false,
    chunks: writeList(cluster, { listQuery, presenter, limit, version: resumed?.version ?? space.version, firstPage, resumed }),
  };
}

interface Listing {
  listQuery: ListQuery;
  presenter: ReturnType<typeof makePresenter>;
  /** 0: no limit. */
  limit: number;
  version: number;
  firstPage: ObjectRow[];
  resumed: ContinueToken | undefined;
}

/** Never holds the whole list in memory: a page is written before the next is read. */
async function* writeList(cluster: Cluster, { listQuery, presenter, limit, version, firstPage, resumed }: Listing): AsyncGenerator<string> {
  let text = presenter.begin;
  let count = 0;
  let bytes = 0;
  let last: ObjectRow | undefined;
  let next: string | undefined;
  walk: for await (const rows of readPages(cluster, listQuery, firstPage, resumed?.after)) {
    for (const row of rows) {
      if (!matchesQuery(listQuery, row.body)) continue;
      // A page also ends after 2 MiB: the client, Quarterdeck included, parses each page at once.
      if (limit > 0 && (count === limit || bytes > limits.pageBytes)) {
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
