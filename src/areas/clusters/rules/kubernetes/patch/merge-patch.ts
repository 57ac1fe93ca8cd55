import type { Json } from '../object.ts';

const isPlain = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** As a field of its own, whatever its name is: assigned, `__proto__` would change the object. */
const put = (object: Json, name: string, value: unknown) =>
  void Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });

/** RFC 7396: what is null goes, objects are merged, everything else is replaced. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isPlain(patch)) return patch;
  const merged: Json = isPlain(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else put(merged, name, applyMergePatch(Object.hasOwn(merged, name) ? merged[name] : undefined, value));
  }
  return merged;
}
