import type { Json } from '../object.ts';

const isPlain = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** RFC 7396: what is null goes, objects are merged, everything else is replaced. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isPlain(patch)) return patch;
  const merged = new Map(Object.entries(isPlain(target) ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, applyMergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}
