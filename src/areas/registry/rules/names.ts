// The grammars of the OCI distribution specification, and the path of every data-plane URL.

const part = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const namePattern = new RegExp(`^${part}(?:/${part})*$`);
const tagPattern = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const digestPattern = /^(?:sha256:[a-f0-9]{64}|sha512:[a-f0-9]{128})$/;
const algorithmPattern = /^[a-z0-9]+(?:[+._-][a-z0-9]+)*:/;

export type Algorithm = 'sha256' | 'sha512';

export const isTag = (text: string) => tagPattern.test(text);
export const isDigest = (text: string) => digestPattern.test(text);
export const algorithmOf = (digest: string) => digest.slice(0, digest.indexOf(':')) as Algorithm;
/** Meant as a digest, well-formed or not: a tag has no colon. */
export const looksLikeDigest = (text: string) => text.includes(':') || algorithmPattern.test(text);

/** Longer names exceed the limits of clients (255 with the host) and of our SQL indexes. */
const maxNameLength = 255;
export const isName = (name: string) => name.length <= maxNameLength && namePattern.test(name);

/** `<slug>/<repository…>`: the first segment is the registry, and at least one more follows. */
export function splitName(name: string): { slug: string; repository: string } | undefined {
  const slash = name.indexOf('/');
  return slash > 0 && isName(name) ? { slug: name.slice(0, slash), repository: name.slice(slash + 1) } : undefined;
}

export type Route =
  | { kind: 'base' }
  | { kind: 'catalog' }
  | { kind: 'tags' | 'uploads'; name: string }
  | { kind: 'upload'; name: string; id: string }
  | { kind: 'manifest'; name: string; reference: string }
  | { kind: 'blob' | 'referrers'; name: string; digest: string };

/** A name may contain the words `blobs` or `manifests`, so a path is parsed from its end. Undefined: not a data-plane path. */
export function routeOf(path: string): Route | undefined {
  if (path === '/v2' || path === '/v2/') return { kind: 'base' };
  if (path === '/v2/_catalog') return { kind: 'catalog' };
  const rest = path.slice('/v2/'.length);
  if (rest.endsWith('/tags/list')) return { kind: 'tags', name: rest.slice(0, -'/tags/list'.length) };
  if (rest.endsWith('/blobs/uploads/')) return { kind: 'uploads', name: rest.slice(0, -'/blobs/uploads/'.length) };

  const end = rest.lastIndexOf('/');
  const last = rest.slice(end + 1);
  const before = rest.slice(0, end);
  if (!last) return undefined;
  if (before.endsWith('/blobs/uploads')) return { kind: 'upload', name: before.slice(0, -'/blobs/uploads'.length), id: last };
  if (before.endsWith('/manifests')) return { kind: 'manifest', name: before.slice(0, -'/manifests'.length), reference: last };
  if (before.endsWith('/referrers')) return { kind: 'referrers', name: before.slice(0, -'/referrers'.length), digest: last };
  if (before.endsWith('/blobs'))
    return last === 'uploads'
      ? { kind: 'uploads', name: before.slice(0, -'/blobs'.length) }
      : { kind: 'blob', name: before.slice(0, -'/blobs'.length), digest: last };
  return undefined;
}
