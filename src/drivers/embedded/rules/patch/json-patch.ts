import { ApiError, badRequest } from '../../../status.ts';
import type { Json } from '../object.ts';

// RFC 6902. The caller passes a copy, which is changed in place.

interface Operation {
  op: string;
  path: string;
  from?: string;
  value?: unknown;
}

const maxOperations = 1_000;
/** Bytes that `copy` and `test` operations may touch: each can do more work than the patch has bytes. */
const maxWorkBytes = 6_291_456;

export function applyJsonPatch(document: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw badRequest('a JSON patch is a list of operations');
  if (patch.length > maxOperations)
    throw new ApiError(
      413,
      'RequestEntityTooLarge',
      `the allowed maximum operations in a JSON patch is ${maxOperations}, got ${patch.length}`,
      {},
    );
  const root = { '': document };
  let work = 0;
  for (const given of patch) {
    const operation = readOperation(given);
    const subject = operation.op === 'copy' ? operation.from! : operation.op === 'test' ? operation.path : undefined;
    if (subject !== undefined) work += JSON.stringify(lookUp(root, subject))?.length ?? 0;
    if (work > maxWorkBytes) throw new ApiError(413, 'RequestEntityTooLarge', 'this JSON patch copies or tests too much', {});
    applyOperation(root, operation);
  }
  return root[''];
}

function readOperation(given: unknown): Operation {
  const { op, path, from, value } = (given ?? {}) as Json;
  if (typeof op !== 'string' || typeof path !== 'string' || (path !== '' && !path.startsWith('/')))
    throw badRequest('an operation of a JSON patch has "op" and a "path" that begins with /');
  if ((op === 'move' || op === 'copy') && typeof from !== 'string') throw badRequest(`the operation ${op} needs "from"`);
  return { op, path, value, ...(typeof from === 'string' ? { from } : {}) };
}

const partsOf = (pointer: string): string[] =>
  ['', ...pointer.split('/').slice(1)].map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

const missingPath = (path: string) =>
  new ApiError(
    422,
    'Invalid',
    `the server rejected our request due to an error in our request: the path ${JSON.stringify(path.slice(0, 200))} does not exist`,
    {},
  );

function step(at: unknown, part: string, path: string): unknown {
  if (Array.isArray(at)) {
    if (!/^(0|[1-9]\d{0,8})$/.test(part) || Number(part) >= at.length) throw missingPath(path);
    return at[Number(part)];
  }
  if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) throw missingPath(path);
  return (at as Json)[part];
}

const lookUp = (root: unknown, path: string): unknown => partsOf(path).reduce((at, part) => step(at, part, path), root);

function applyOperation(root: unknown, { op, path, from, value }: Operation): void {
  if (op === 'add') addAt(root, path, structuredClone(value));
  else if (op === 'replace') replaceAt(root, path, structuredClone(value));
  else if (op === 'remove') removeAt(root, path);
  else if (op === 'copy') addAt(root, path, structuredClone(lookUp(root, from!)));
  else if (op === 'move') {
    if (path.startsWith(`${from}/`)) throw missingPath(path);
    addAt(root, path, removeAt(root, from!));
  } else if (op === 'test') requireEqual(lookUp(root, path), value ?? null, path);
  else throw badRequest(`the operation ${JSON.stringify(op.slice(0, 50))} does not exist in a JSON patch`);
}

function requireEqual(actual: unknown, expected: unknown, path: string): void {
  if (canonical(actual) !== canonical(expected))
    throw new ApiError(
      422,
      'Invalid',
      `the server rejected our request due to an error in our request: testing value ${path.slice(0, 200)} failed`,
      {},
    );
}

function replaceAt(root: unknown, path: string, value: unknown): void {
  lookUp(root, path);
  const { parent, last } = parentOf(root, path);
  if (Array.isArray(parent)) parent[Number(last)] = value;
  else addAt(root, path, value);
}

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, part) =>
    part && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );

function parentOf(root: unknown, path: string): { parent: unknown; last: string } {
  const parts = partsOf(path);
  const last = parts.pop()!;
  return { parent: parts.reduce((at, part) => step(at, part, path), root), last };
}

function addAt(root: unknown, path: string, value: unknown): void {
  const { parent, last } = parentOf(root, path);
  if (Array.isArray(parent)) {
    if (last === '-') parent.push(value);
    else if (/^(0|[1-9]\d{0,8})$/.test(last) && Number(last) <= parent.length) parent.splice(Number(last), 0, value);
    else throw missingPath(path);
  } else if (typeof parent === 'object' && parent !== null)
    Object.defineProperty(parent, last, { value, enumerable: true, configurable: true, writable: true });
  else throw missingPath(path);
}

function removeAt(root: unknown, path: string): unknown {
  const value = lookUp(root, path);
  const { parent, last } = parentOf(root, path);
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else delete (parent as Json)[last];
  return value;
}
