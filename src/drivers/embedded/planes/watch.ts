import { randomInt } from 'node:crypto';
import type { UnreadAccount } from '../../driver.ts';
import { type ApiError, expired, forbiddenValue, invalidError, statusOf, tooLargeVersion, tooMany } from '../../status.ts';
import type { Call, Caller, Reply } from '../engine/call.ts';
import { type Change, type ChangeFeed, makeChange, type Subscriber } from '../engine/change-feed.ts';
import { type Cluster, limits } from '../engine/cluster.ts';
import { requireSpace } from '../engine/read.ts';
import { groupVersionOf } from '../rules/resources.ts';
import { isSelected, selectsAll } from '../rules/selectors.ts';
import { listChanges } from '../store/object-changes.ts';
import { readSpace } from '../store/objects.ts';
import { type ListQuery, matchesQuery, parseListQuery, parseVersion, readPages } from './list.ts';
import { makePresenter, type Presenter } from './present.ts';

/** One open watch and its output buffer. */
interface Watch extends Subscriber {
  listQuery: ListQuery;
  presenter: Presenter;
  /** The version that the client knows; the change feed may still be behind it. */
  startVersion: number;
  /** Changes that arrive during catch-up; undefined afterwards. */
  pending: Change[] | undefined;
  pendingBytes: number;
  lines: string[];
  bytes: number;
  /** Counts the buffered bytes against the limits of cluster and organization. */
  unread: UnreadAccount;
  isEnded: boolean;
  /** Wakes the generator that waits for lines. */
  wakeWriter: () => void;
}

export async function replyWatch(cluster: Cluster, feed: ChangeFeed, call: Call): Promise<Reply> {
  const { requestInfo, signal } = call;
  const { query, resource } = requestInfo;
  const listQuery = parseListQuery(call);
  if (query.get('sendInitialEvents') !== null)
    throw invalidError('ListOptions', { group: 'meta.k8s.io', plural: 'ListOptions' }, '', [
      forbiddenValue('sendInitialEvents', 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled'),
    ]);
  const from = parseVersion(query.get('resourceVersion') ?? '');
  if (cluster.watches >= limits.watches) throw tooMany(`this cluster has ${limits.watches} watches, as many as it may; end some first`);
  cluster.watches++;
  try {
    const space = await cluster.app.db.read((tx) => requireSpace(tx, cluster));
    if (from > space.version) throw tooLargeVersion(from, space.version);
    const watch = makeWatch(listQuery, makePresenter(resource!, call.representation, space.now), call.unread);
    const chunks = runWatch(cluster, feed, watch, {
      fromVersion: from,
      wantsBookmarks: query.get('allowWatchBookmarks') === 'true',
      timeoutSeconds: timeoutSecondsOf(query),
      signal,
      caller: call.caller,
    });
    return { status: 200, isWatch: true, chunks };
  } catch (error) {
    cluster.watches--;
    throw error;
  }
}

/** As kube-apiserver: at least half an hour, with jitter. */
const timeoutSecondsOf = (query: URLSearchParams) => {
  const requested = Number(/^\d{1,7}$/.exec(query.get('timeoutSeconds') ?? '')?.[0] ?? 0);
  return requested > 0 ? Math.min(requested, 86_400) : 1_800 + randomInt(1_800);
};

function makeWatch(listQuery: ListQuery, presenter: Presenter, unread: UnreadAccount): Watch {
  const watch: Watch = {
    listQuery,
    presenter,
    startVersion: 0,
    pending: [],
    pendingBytes: 0,
    lines: [],
    bytes: 0,
    unread,
    isEnded: false,
    wakeWriter: () => {},
    resource: listQuery.resource.storedAs,
    onChange: (change) => (watch.pending ? queuePending(watch, change) : deliver(watch, change)),
    onExpired: () => fail(watch, expired('too old resource version: the change log was trimmed before this watch had read it')),
    onBookmark: () => {},
  };
  return watch;
}

function queuePending(watch: Watch, change: Change): void {
  if (watch.pendingBytes + change.body.length > limits.watchBufferBytes) return void endWatch(watch);
  watch.pendingBytes += change.body.length;
  watch.pending!.push(change);
  watch.unread.add(change.body.length);
}

function endWatch(watch: Watch): void {
  watch.isEnded = true;
  watch.wakeWriter();
}

/** Buffers one line. A client that reads too slowly is cut, and reconnects with the version that it knows. */
function push(watch: Watch, line: string): void {
  if (watch.isEnded) return;
  if (watch.bytes + line.length > limits.watchBufferBytes) return void endWatch(watch);
  watch.bytes += line.length;
  watch.lines.push(line);
  watch.unread.add(line.length);
  watch.wakeWriter();
}

const lineOf = (type: string, object: string) => `{"type":"${type}","object":${object}}\n`;

function fail(watch: Watch, error: ApiError): void {
  push(watch, lineOf('ERROR', JSON.stringify(statusOf(error))));
  endWatch(watch);
}

/** Maps a change to an event of this watch: a modified object can start or stop matching the selector. */
function deliver(watch: Watch, change: Change): void {
  if (change.version <= watch.startVersion) return;
  const { namespace, selector } = watch.listQuery;
  if (namespace !== undefined && change.namespace !== namespace) return;
  let type: string = change.type;
  if (!selectsAll(selector)) {
    const matches = isSelected(selector, change.selectable());
    const matchedBefore = change.type === 'ADDED' ? false : isSelected(selector, change.selectableBefore());
    if (change.type === 'DELETED' ? !matchedBefore : !matches && !matchedBefore) return;
    if (change.type === 'MODIFIED') type = matches ? (matchedBefore ? 'MODIFIED' : 'ADDED') : 'DELETED';
  }
  push(watch, lineOf(type, watch.presenter.one(change.body)));
}

interface WatchOptions {
  fromVersion: number;
  wantsBookmarks: boolean;
  timeoutSeconds: number;
  signal: AbortSignal;
  caller: Caller;
}

async function* runWatch(cluster: Cluster, feed: ChangeFeed, watch: Watch, options: WatchOptions): AsyncGenerator<string> {
  const stop = () => endWatch(watch);
  const timer = setTimeout(stop, options.timeoutSeconds * 1000).unref();
  const { ending = cluster.app.ending } = cluster.options;
  for (const signal of [options.signal, ending]) {
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
  }
  const bookmark = (version: number) => push(watch, lineOf('BOOKMARK', writeBookmark(watch.listQuery, version)));
  try {
    yield ''; // sends the headers before the first event
    const position = await feed.subscribe(watch);
    endWithCredential(cluster, options.caller, stop);
    // The credential may have ended before the watch was registered.
    if (options.caller.credentialObjects.length > 0) await cluster.app.db.read(options.caller.check);
    const { from, sent } =
      options.fromVersion === 0
        ? yield* sendInitialObjects(cluster, watch)
        : { from: options.fromVersion, sent: new Map<string, number>() };
    watch.startVersion = from;
    yield* catchUp(cluster, watch, from, position, sent);
    for (const change of watch.pending ?? []) if (change.version > position) deliverUnsent(watch, change, sent);
    watch.pending = undefined;
    watch.unread.subtract(watch.pendingBytes);
    if (options.wantsBookmarks) watch.onBookmark = bookmark;
    yield* streamLines(watch);
  } finally {
    feed.unsubscribe(watch);
    forgetCredential(cluster, options.caller, stop);
    clearTimeout(timer);
    for (const signal of [options.signal, ending]) signal.removeEventListener('abort', stop);
    cluster.watches--;
  }
}

/** Ends the watch when its credential is deleted. */
function endWithCredential({ watchesByCredential }: Cluster, { credentialObjects }: Caller, end: () => void): void {
  for (const key of credentialObjects) watchesByCredential.set(key, (watchesByCredential.get(key) ?? new Set()).add(end));
}

function forgetCredential({ watchesByCredential }: Cluster, { credentialObjects }: Caller, end: () => void): void {
  for (const key of credentialObjects) {
    const ends = watchesByCredential.get(key);
    ends?.delete(end);
    if (ends?.size === 0) watchesByCredential.delete(key);
  }
}

const writeBookmark = ({ resource }: ListQuery, version: number) =>
  JSON.stringify({
    kind: resource.kind,
    apiVersion: groupVersionOf(resource),
    metadata: { resourceVersion: String(version), creationTimestamp: null },
  });

/** Sends all objects as ADDED. `sent` holds the objects that were already newer than the version from which changes follow. */
async function* sendInitialObjects(cluster: Cluster, watch: Watch) {
  const sent = new Map<string, number>();
  const space = await cluster.app.db.read((tx) => requireSpace(tx, cluster));
  if (watch.listQuery.resource.mode === 'stored')
    for await (const rows of readPages(cluster, watch.listQuery, undefined, undefined)) {
      let text = '';
      for (const row of rows) {
        if (!matchesQuery(watch.listQuery, row.body)) continue;
        if (row.version > space.version) sent.set(`${row.namespace}/${row.name}`, row.version);
        text += lineOf('ADDED', watch.presenter.one(row.body));
      }
      if (watch.isEnded) break;
      yield text;
    }
  return { from: space.version, sent };
}

const deliverUnsent = (watch: Watch, change: Change, sent: Map<string, number>) => {
  if ((sent.get(`${change.namespace}/${change.name}`) ?? 0) < change.version) deliver(watch, change);
};

/** Sends changes from the client's version up to the feed's position; the feed delivers the rest. */
async function* catchUp(cluster: Cluster, watch: Watch, from: number, position: number, sent: Map<string, number>): AsyncGenerator<string> {
  let after = from;
  while (!watch.isEnded) {
    const { rows, space } = await cluster.app.db.read(async (tx) => {
      const page = { after, resource: watch.resource, limit: limits.pageRows, bytes: limits.pageBytes };
      const found = after < position ? await listChanges(tx, cluster, page) : [];
      return { rows: found, space: await readSpace(tx, cluster.id) };
    });
    // Read after the changes: if the log was trimmed before that read, `oldest` says so.
    if (!space || space.oldest > after) return void fail(watch, expired(`too old resource version: ${after} (${space?.oldest ?? 0})`));
    for (const row of rows) if (row.version <= position) deliverUnsent(watch, makeChange(row), sent);
    yield* flush(watch);
    const last = rows.at(-1)?.version;
    if (last === undefined || last >= position) return;
    after = last;
  }
}

function* flush(watch: Watch): Generator<string> {
  const text = watch.lines.join('');
  watch.lines = [];
  watch.unread.subtract(watch.bytes);
  watch.bytes = 0;
  if (text) yield text;
}

async function* streamLines(watch: Watch): AsyncGenerator<string> {
  for (;;) {
    yield* flush(watch);
    if (watch.isEnded) return;
    if (watch.lines.length === 0)
      await new Promise<void>((resolve) => {
        watch.wakeWriter = resolve;
        if (watch.lines.length > 0 || watch.isEnded) resolve();
      });
  }
}
