import { randomInt } from 'node:crypto';
import { groupVersionOf } from '../../rules/kubernetes/resources.ts';
import { isEverything, isSelected } from '../../rules/kubernetes/selectors.ts';
import { type ApiError, expired, forbiddenValue, invalidError, statusOf, tooLargeVersion, tooMany } from '../../rules/kubernetes/status.ts';
import { listChanges } from '../../store/object-changes.ts';
import { readSpace } from '../../store/objects.ts';
import type { Call, Reply } from './call.ts';
import type { Caller } from './caller.ts';
import { type Cluster, limits } from './cluster.ts';
import { type Change, type Follower, type Hearer, makeChange } from './follow.ts';
import { isWanted, readVersion, readWanted, type Wanted, walkObjects } from './list.ts';
import { makePresenter, type Presenter } from './present.ts';
import { requireSpace } from './read.ts';
import type { UnreadBytes } from './unread.ts';

/** One watch: what it waits to write, and whether it still does. */
interface Watch extends Hearer {
  wanted: Wanted;
  presenter: Presenter;
  /** What the caller knows already: the follower may still be behind it. */
  floor: number;
  /** Changes heard while it still catches up; undefined from then on. */
  early: Change[] | undefined;
  earlyBytes: number;
  lines: string[];
  bytes: number;
  /** The same bytes, among those of all others. */
  unread: UnreadBytes;
  isOver: boolean;
  /** Wakes whoever waits for lines. */
  notice: () => void;
}

export async function replyWatch(cluster: Cluster, follower: Follower, call: Call): Promise<Reply> {
  const { asked, signal } = call;
  const { query, resource } = asked;
  const wanted = readWanted(call);
  if (query.get('sendInitialEvents') !== null)
    throw invalidError('ListOptions', { group: 'meta.k8s.io', plural: 'ListOptions' }, '', [
      forbiddenValue('sendInitialEvents', 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled'),
    ]);
  const from = readVersion(query.get('resourceVersion') ?? '');
  if (cluster.watches >= limits.watches) throw tooMany(`this cluster has ${limits.watches} watches, as many as it may; end some first`);
  cluster.watches++;
  try {
    const space = await cluster.app.db.read((tx) => requireSpace(tx, cluster));
    if (from > space.version) throw tooLargeVersion(from, space.version);
    const watch = makeWatch(wanted, makePresenter(resource!, call.show, space.now), call.unread);
    const pieces = runWatch(cluster, follower, watch, {
      from,
      isMarked: query.get('allowWatchBookmarks') === 'true',
      seconds: secondsOf(query),
      signal,
      caller: call.caller,
    });
    return { status: 200, isWatch: true, pieces };
  } catch (error) {
    cluster.watches--;
    throw error;
  }
}

/** As kube-apiserver: half an hour at least, and not all at the same moment. */
const secondsOf = (query: URLSearchParams) => {
  const asked = Number(/^\d{1,7}$/.exec(query.get('timeoutSeconds') ?? '')?.[0] ?? 0);
  return asked > 0 ? Math.min(asked, 86_400) : 1_800 + randomInt(1_800);
};

function makeWatch(wanted: Wanted, presenter: Presenter, unread: UnreadBytes): Watch {
  const watch: Watch = {
    ...{ wanted, presenter, floor: 0, early: [], earlyBytes: 0, lines: [], bytes: 0, unread, isOver: false, notice: () => {} },
    resource: wanted.resource.storedAs,
    hear: (change) => (watch.early ? keepEarly(watch, change) : tell(watch, change)),
    lose: () => fail(watch, expired('too old resource version: changes were forgotten before they could be told')),
    mark: () => {},
  };
  return watch;
}

function keepEarly(watch: Watch, change: Change): void {
  if (watch.earlyBytes + change.body.length > limits.watchBytes) return void over(watch);
  watch.earlyBytes += change.body.length;
  watch.early!.push(change);
  watch.unread.add(change.body.length);
}

function over(watch: Watch): void {
  watch.isOver = true;
  watch.notice();
}

/** One more line. Whoever is too slow to take them is cut off, and comes again with the version that it knows. */
function push(watch: Watch, line: string): void {
  if (watch.isOver) return;
  if (watch.bytes + line.length > limits.watchBytes) return void over(watch);
  watch.bytes += line.length;
  watch.lines.push(line);
  watch.unread.add(line.length);
  watch.notice();
}

const lineOf = (type: string, object: string) => `{"type":"${type}","object":${object}}\n`;

function fail(watch: Watch, error: ApiError): void {
  push(watch, lineOf('ERROR', JSON.stringify(statusOf(error))));
  over(watch);
}

/** What a change is to this watch: an object can also come into its sight, or leave it. */
function tell(watch: Watch, change: Change): void {
  if (change.version <= watch.floor) return;
  const { namespace, selector } = watch.wanted;
  if (namespace !== undefined && change.namespace !== namespace) return;
  let type: string = change.type;
  if (!isEverything(selector)) {
    const is = isSelected(selector, change.seen());
    const was = change.type === 'ADDED' ? false : isSelected(selector, change.seenBefore());
    if (change.type === 'DELETED' ? !was : !is && !was) return;
    if (change.type === 'MODIFIED') type = is ? (was ? 'MODIFIED' : 'ADDED') : 'DELETED';
  }
  push(watch, lineOf(type, watch.presenter.one(change.body)));
}

interface Course {
  from: number;
  isMarked: boolean;
  seconds: number;
  signal: AbortSignal;
  caller: Caller;
}

async function* runWatch(cluster: Cluster, follower: Follower, watch: Watch, course: Course): AsyncGenerator<string> {
  const stop = () => over(watch);
  const timer = setTimeout(stop, course.seconds * 1000).unref();
  course.signal.addEventListener('abort', stop, { once: true });
  if (course.signal.aborted) stop();
  const bookmark = (version: number) => push(watch, lineOf('BOOKMARK', writeBookmark(watch.wanted, version)));
  try {
    yield ''; // the headers go out before anything happens
    const position = await follower.join(watch);
    hangOn(cluster, course.caller, stop);
    // What it hangs on may have gone before it was listened for.
    if (course.caller.hangsOn.length > 0) await cluster.app.db.read(course.caller.check);
    const { from, sent } = course.from === 0 ? yield* tellAll(cluster, watch) : { from: course.from, sent: new Map<string, number>() };
    watch.floor = from;
    yield* catchUp(cluster, watch, from, position, sent);
    for (const change of watch.early ?? []) if (change.version > position) tellUnsent(watch, change, sent);
    watch.early = undefined;
    watch.unread.take(watch.earlyBytes);
    if (course.isMarked) watch.mark = bookmark;
    yield* takeLines(watch);
  } finally {
    follower.leave(watch);
    letGo(cluster, course.caller, stop);
    clearTimeout(timer);
    course.signal.removeEventListener('abort', stop);
    cluster.watches--;
  }
}

/** A watch ends with the credential that it was opened with. */
function hangOn({ endings }: Cluster, { hangsOn }: Caller, end: () => void): void {
  for (const key of hangsOn) endings.set(key, (endings.get(key) ?? new Set()).add(end));
}

function letGo({ endings }: Cluster, { hangsOn }: Caller, end: () => void): void {
  for (const key of hangsOn) {
    const ends = endings.get(key);
    ends?.delete(end);
    if (ends?.size === 0) endings.delete(key);
  }
}

const writeBookmark = ({ resource }: Wanted, version: number) =>
  JSON.stringify({
    kind: resource.kind,
    apiVersion: groupVersionOf(resource),
    metadata: { resourceVersion: String(version), creationTimestamp: null },
  });

/** Everything that is there, as if it had just come. Says which objects were already newer than the version from which changes follow. */
async function* tellAll(cluster: Cluster, watch: Watch) {
  const sent = new Map<string, number>();
  const space = await cluster.app.db.read((tx) => requireSpace(tx, cluster));
  if (watch.wanted.resource.manner === 'kept')
    for await (const rows of walkObjects(cluster, watch.wanted, undefined, undefined)) {
      let text = '';
      for (const row of rows) {
        if (!isWanted(watch.wanted, row.body)) continue;
        if (row.version > space.version) sent.set(`${row.namespace}/${row.name}`, row.version);
        text += lineOf('ADDED', watch.presenter.one(row.body));
      }
      if (watch.isOver) break;
      yield text;
    }
  return { from: space.version, sent };
}

const tellUnsent = (watch: Watch, change: Change, sent: Map<string, number>) => {
  if ((sent.get(`${change.namespace}/${change.name}`) ?? 0) < change.version) tell(watch, change);
};

/** What changed since the version that the caller knows, up to where the follower will tell the rest. */
async function* catchUp(cluster: Cluster, watch: Watch, from: number, position: number, sent: Map<string, number>): AsyncGenerator<string> {
  let after = from;
  while (!watch.isOver) {
    const { rows, space } = await cluster.app.db.read(async (tx) => {
      const portion = { after, resource: watch.resource, most: limits.portionRows, bytes: limits.portionBytes };
      const found = after < position ? await listChanges(tx, cluster, portion) : [];
      return { rows: found, space: await readSpace(tx, cluster.id) };
    });
    // Asked for after the changes: what was forgotten before is known now.
    if (!space || space.oldest > after) return void fail(watch, expired(`too old resource version: ${after} (${space?.oldest ?? 0})`));
    for (const row of rows) if (row.version <= position) tellUnsent(watch, makeChange(row), sent);
    yield* flush(watch);
    const last = rows.at(-1)?.version;
    if (last === undefined || last >= position) return;
    after = last;
  }
}

function* flush(watch: Watch): Generator<string> {
  const text = watch.lines.join('');
  watch.lines = [];
  watch.unread.take(watch.bytes);
  watch.bytes = 0;
  if (text) yield text;
}

async function* takeLines(watch: Watch): AsyncGenerator<string> {
  for (;;) {
    yield* flush(watch);
    if (watch.isOver) return;
    if (watch.lines.length === 0)
      await new Promise<void>((resolve) => {
        watch.notice = resolve;
        if (watch.lines.length > 0 || watch.isOver) resolve();
      });
  }
}
