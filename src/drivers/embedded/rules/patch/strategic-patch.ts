import { badRequest } from '../../../status.ts';
import type { Json } from '../object.ts';
import { type Field, isScalar, type Message, messageNamed } from '../schema/messages.ts';

// Kubernetes' strategic merge patch: a merge patch in which lists with a merge key merge item by item. schema/tables.ts names the keys.

const isPlain = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const directive = '$patch';
const deleteFrom = '$deleteFromPrimitiveList/';
const order = '$setElementOrder/';
const retain = '$retainKeys';

/** `message` is undefined below fields that no table describes; there the patch is a plain merge patch. */
export function applyStrategicPatch(target: unknown, patch: unknown, message: Message | undefined): unknown {
  if (!isPlain(patch)) return patch;
  if (patch[directive] === 'replace') return without(patch, [directive]);
  if (patch[directive] === 'delete') return {};
  const retained = Array.isArray(patch[retain]) ? new Set(patch[retain] as string[]) : undefined;
  const base = Object.entries(isPlain(target) ? target : {});
  const merged = new Map(retained ? base.filter(([name]) => retained.has(name)) : base);
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith(deleteFrom)) removeValues(merged, name.slice(deleteFrom.length), value);
    if (name.startsWith('$')) continue;
    if (value === null) merged.delete(name);
    else merged.set(name, mergeField(merged.get(name), value, message?.fields.get(name)));
  }
  for (const [name, value] of Object.entries(patch))
    if (name.startsWith(order)) sortItems(merged, name.slice(order.length), value, message);
  return Object.fromEntries(merged);
}

const without = (value: Json, names: string[]): Json => Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));

function mergeField(target: unknown, value: unknown, field: Field | undefined): unknown {
  if (Array.isArray(value)) return field?.mergeKey === undefined ? value : mergeList(target, value, field);
  const message = field && field.cardinality === 'one' && !isScalar(field.type) ? messageNamed(field.type) : undefined;
  return applyStrategicPatch(target, value, message);
}

function mergeList(target: unknown, patch: unknown[], field: Field): unknown[] {
  const own = Array.isArray(target) ? target : [];
  const key = field.mergeKey!;
  if (key === '') return [...new Set([...own, ...patch])];
  if (patch.some((item) => isPlain(item) && item[directive] === 'replace' && Object.keys(item).length === 1))
    return patch.filter((item) => !(isPlain(item) && item[directive] === 'replace' && Object.keys(item).length === 1));
  const items = new Map<string, unknown>();
  for (const item of own) items.set(keyOf(item, key), item);
  const message = isScalar(field.type) ? undefined : messageNamed(field.type);
  for (const item of patch) {
    const name = keyOf(item, key);
    if ((item as Json)[directive] === 'delete') items.delete(name);
    else items.set(name, applyStrategicPatch(items.get(name) ?? {}, item, message));
  }
  return [...items.values()];
}

const keyOf = (item: unknown, key: string): string => {
  const value = isPlain(item) && Object.hasOwn(item, key) ? item[key] : undefined;
  if (value === undefined) throw badRequest(`map: ${JSON.stringify(item)?.slice(0, 200)} does not contain declared merge key: ${key}`);
  return JSON.stringify(value);
};

function removeValues(merged: Map<string, unknown>, name: string, values: unknown): void {
  const list = merged.get(name);
  if (!Array.isArray(list) || !Array.isArray(values)) return;
  const gone = new Set(values);
  merged.set(
    name,
    list.filter((item) => !gone.has(item)),
  );
}

/** Items in `$setElementOrder` come in that order; other items follow. */
function sortItems(merged: Map<string, unknown>, name: string, wanted: unknown, message: Message | undefined): void {
  const list = merged.get(name);
  const key = message?.fields.get(name)?.mergeKey;
  if (!Array.isArray(list) || !Array.isArray(wanted) || key === undefined) return;
  const identify = (item: unknown) => JSON.stringify(key === '' ? item : isPlain(item) ? (item[key] ?? null) : null);
  const positions = new Map(wanted.map((item, at) => [identify(item), at]));
  const positioned = list.map((item, at) => ({ item, at: positions.get(identify(item)) ?? wanted.length + at }));
  merged.set(
    name,
    positioned.sort((a, b) => a.at - b.at).map(({ item }) => item),
  );
}
