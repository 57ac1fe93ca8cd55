import type { Json } from '../object.ts';

const isPlain = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Defines the property, since assigning `__proto__` would change the object's prototype. */
const put = (object: Json, name: string, value: unknown) =>
  void Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });

/** RFC 7396: null deletes, objects merge, other values replace. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isPlain(patch)) return patch;
  const merged: Json = isPlain(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else put(merged, name, applyMergePatch(Object.hasOwn(merged, name) ? merged[name] : undefined, value));
  }
  return merged;
}
