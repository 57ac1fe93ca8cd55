import { randomBytes, randomUUID } from 'node:crypto';
import type { User } from './authenticate.ts';
import type { KineRow } from './kine.ts';
import type { Store } from './store.ts';

// Objects of any kind, kept by their path: made, read, changed, removed and watched as Kubernetes does it, without knowing what they mean.

// biome-ignore lint/suspicious/noExplicitAny: Kubernetes' objects, of many shapes
export type KubeObject = any;

export class Refusal extends Error {
  readonly code: number;
  readonly reason: string;
  constructor(code: number, reason: string, message: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

/** A path below /api or /apis. */
export interface Place {
  apiVersion: string;
  plural: string;
  namespace: string;
  name: string;
  subresource: string;
  /** What follows a subresource, as of `proxy`. */
  rest: string;
}

export function readPlace(path: string): Place | undefined {
  const parts = path.split('/').filter(Boolean).map(decodeURIComponent);
  const isCore = parts[0] === 'api' && parts[1] === 'v1';
  if (!isCore && (parts[0] !== 'apis' || parts.length < 4)) return undefined;
  const apiVersion = isCore ? 'v1' : `${parts[1]}/${parts[2]}`;
  let below = parts.slice(isCore ? 2 : 3);
  let namespace = '';
  if (below[0] === 'namespaces' && below.length >= 3 && !['status', 'finalize'].includes(below[2]!)) {
    namespace = below[1]!;
    below = below.slice(2);
  }
  const [plural, name = '', subresource = '', ...rest] = below;
  return plural ? { apiVersion, plural, namespace, name, subresource, rest: rest.join('/') } : undefined;
}

const folderOf = ({ apiVersion, plural }: Place) => `/registry/${apiVersion.includes('/') ? `${apiVersion.split('/')[0]}/` : ''}${plural}/`;
const prefixOf = (place: Place) => `${folderOf(place)}${place.namespace ? `${place.namespace}/` : ''}`;
const keyOf = (place: Place) => `${prefixOf(place)}${place.name}`;

const isClusterWide = new Set(
  'namespaces nodes certificatesigningrequests clusterroles clusterrolebindings csinodes persistentvolumes storageclasses priorityclasses'.split(
    ' ',
  ),
);

const expired = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Expired', code: 410, message: 'too old resource version' };

const named = ({ plural, name, apiVersion }: Place) =>
  `${plural}${apiVersion.includes('/') ? `.${apiVersion.split('/')[0]}` : ''} "${name}"`;
const notFound = (place: Place) => new Refusal(404, 'NotFound', `${named(place)} not found`);
const conflict = (place: Place) =>
  new Refusal(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${named(place)}: the object has been modified; please apply your changes to the latest version and try again`,
  );

const shown = (row: KineRow): KubeObject => {
  const object = JSON.parse(row.value);
  object.metadata.resourceVersion = String(row.revision);
  return object;
};

const clockText = () => `${new Date(performance.timeOrigin + performance.now()).toISOString().slice(0, 19)}Z`;

export interface Objects {
  create(place: Place, body: KubeObject, user: User): Promise<KubeObject>;
  read(place: Place): Promise<KubeObject>;
  list(place: Place, query: URLSearchParams): Promise<KubeObject>;
  /** Again if somebody else was faster, unless the change says which version it is of. */
  change(place: Place, change: (before: KubeObject) => KubeObject): Promise<KubeObject>;
  remove(place: Place): Promise<KubeObject>;
  watch(place: Place, query: URLSearchParams, onEvent: (type: string, object: KubeObject) => void, onEnd: () => void): Promise<() => void>;
}

export function openObjects(store: Store): Objects {
  const find = async (place: Place) => (await store.ask({ op: 'read', key: keyOf(place) })).rows![0];
  const list: Objects['list'] = async (place, query) => {
    const { rows = [], revision } = await store.ask({ op: 'list', key: prefixOf(place) });
    const items = rows.map(shown).filter(matches(query));
    return { kind: 'List', apiVersion: place.apiVersion, metadata: { resourceVersion: String(revision) }, items };
  };
  return {
    list,
    async create(place, body, user) {
      const object = structuredClone(body);
      object.metadata ??= {};
      const { metadata } = object;
      metadata.name ??= metadata.generateName ? `${metadata.generateName}${randomBytes(3).toString('hex').slice(0, 5)}` : undefined;
      if (!metadata.name) throw new Refusal(422, 'Invalid', 'name or generateName is required');
      const full = { ...place, name: metadata.name, namespace: isClusterWide.has(place.plural) ? '' : place.namespace };
      if (full.namespace) {
        metadata.namespace = full.namespace;
        if (!(await find({ ...namespaces, name: full.namespace }))) throw notFound({ ...namespaces, name: full.namespace });
      }
      Object.assign(metadata, { uid: randomUUID(), creationTimestamp: clockText() });
      delete metadata.resourceVersion;
      complete(place, object, user);
      const { isConflict, rows } = await store.ask({ op: 'write', key: keyOf(full), value: JSON.stringify(object), expected: 0 });
      if (isConflict) throw new Refusal(409, 'AlreadyExists', `${named(full)} already exists`);
      return shown(rows![0]!);
    },
    async read(place) {
      const row = await find(place);
      if (!row) throw notFound(place);
      return shown(row);
    },
    async change(place, change) {
      for (let tries = 0; tries < 20; tries++) {
        const row = await find(place);
        if (!row) throw notFound(place);
        const before = shown(row);
        const after = merge(place.subresource, before, change(structuredClone(before)));
        const said = after.metadata.resourceVersion;
        if (said && said !== before.metadata.resourceVersion) throw conflict(place);
        const isGone = before.metadata.deletionTimestamp && !after.metadata.finalizers?.length;
        const value = isGone ? null : JSON.stringify(after);
        const { isConflict, rows } = await store.ask({ op: 'write', key: keyOf(place), value, expected: row.revision });
        if (!isConflict) return shown(rows![0]!);
      }
      throw conflict(place);
    },
    async remove(place) {
      const row = await find(place);
      if (!row) throw notFound(place);
      const before = shown(row);
      const keeps = before.metadata.finalizers?.length > 0;
      if (keeps && before.metadata.deletionTimestamp) return before;
      const value = keeps ? JSON.stringify({ ...before, metadata: { ...before.metadata, deletionTimestamp: clockText() } }) : null;
      const { isConflict, rows } = await store.ask({ op: 'write', key: keyOf(place), value, expected: row.revision });
      if (isConflict) throw conflict(place);
      if (place.plural === 'namespaces') await emptyNamespace(store, place.name);
      return shown(rows![0]!);
    },
    async watch(place, query, onEvent, onEnd) {
      const isWanted = matches(query);
      let from = Number(query.get('resourceVersion') ?? 0);
      if (!from) {
        const { items, metadata } = await list(place, query);
        for (const item of items) onEvent('ADDED', item);
        from = Number(metadata.resourceVersion);
      }
      const onRows = (rows: KineRow[]) => {
        for (const row of rows) {
          const object = shown(row);
          if (isWanted(object)) onEvent(row.isGone ? 'DELETED' : row.isNew ? 'ADDED' : 'MODIFIED', object);
        }
      };
      return store.watch(prefixOf(place), from, onRows, (isCompacted) => {
        if (isCompacted) onEvent('ERROR', expired);
        onEnd();
      });
    },
  };
}

export const namespaces: Place = { apiVersion: 'v1', plural: 'namespaces', namespace: '', name: '', subresource: '', rest: '' };

/** The namespace controller's work, at once. */
async function emptyNamespace(store: Store, name: string): Promise<void> {
  const { rows = [] } = await store.ask({ op: 'list', key: '/registry/' });
  for (const { key } of rows) if (key.split('/').at(-2) === name) await store.ask({ op: 'write', key, value: null });
}

/** What the server fills in. */
function complete(place: Place, object: KubeObject, user: User): void {
  if (place.plural === 'certificatesigningrequests') {
    const { username, groups, uid, extra } = user;
    object.spec = { ...object.spec, username, groups, ...(uid ? { uid } : {}), ...(extra ? { extra } : {}) };
    delete object.status;
  }
  if (place.plural === 'secrets' && object.stringData) {
    const encoded = Object.entries(object.stringData as Record<string, string>).map(([name, text]) => [
      name,
      Buffer.from(text).toString('base64'),
    ]);
    object.data = { ...object.data, ...Object.fromEntries(encoded) };
    delete object.stringData;
  }
  if (place.plural === 'pods') object.status ??= { phase: 'Pending' };
  if (place.plural === 'namespaces') object.status ??= { phase: 'Active' };
}

/** A subresource changes its part, and the object itself everything but its status. */
function merge(subresource: string, before: KubeObject, after: KubeObject): KubeObject {
  const { resourceVersion } = after.metadata ?? {};
  if (subresource === 'status') return { ...before, metadata: { ...before.metadata, resourceVersion }, status: after.status };
  if (subresource === 'approval')
    return {
      ...before,
      metadata: { ...before.metadata, resourceVersion },
      status: { ...before.status, conditions: after.status?.conditions },
    };
  const { uid, creationTimestamp, deletionTimestamp } = before.metadata;
  const metadata = { ...after.metadata, uid, creationTimestamp, ...(deletionTimestamp ? { deletionTimestamp } : {}) };
  return { ...after, kind: before.kind, apiVersion: before.apiVersion, metadata, ...(before.status ? { status: before.status } : {}) };
}

const valueAt = (object: KubeObject, path: string) => path.split('.').reduce((at, part) => at?.[part], object) ?? '';

/** Equality in labelSelector and fieldSelector; nothing else is asked of it. */
function matches(query: URLSearchParams): (object: KubeObject) => boolean {
  const terms = (name: string) =>
    (query.get(name) ?? '')
      .split(',')
      .filter(Boolean)
      .map((term) => term.split(/==?/));
  const [labels, fields] = [terms('labelSelector'), terms('fieldSelector')];
  return (object) =>
    labels.every(([name, value]) =>
      value === undefined ? name! in (object.metadata.labels ?? {}) : object.metadata.labels?.[name!] === value,
    ) && fields.every(([path, value]) => String(valueAt(object, path!)) === value);
}
