import type { Op } from '../../contract/common.ts';

/** Fields that hold a secret, in what clients send and in what they get. */
const secretFields = new Set(
  'password secret token authToken subject_token access_token joinToken key signingSecret kubeconfig link deviceCode'
    .concat(' headers bodyBase64 sendBase64 expectBodyContains expectPrefixBase64')
    .split(' '),
);
/** Shorter ones stand in every row somewhere. */
const leastLength = 6;
/** The id of a token is no secret, though a field may be called so. */
const anId = /^[a-z]+_[0-9A-Z]{26}$/;
const aKey = /\bqd_[a-z]+_[A-Za-z0-9_-]{8,}/g;

/** Every secret in a body or an answer: what secret fields hold, keys wherever they stand, and the values in the query of a URL. */
export function secretsIn(value: unknown, name = ''): string[] {
  if (typeof value === 'string') {
    const query = /^https?:\/\//.test(value) && URL.canParse(value) ? [...new URL(value).searchParams.values()] : [];
    const last = name === 'link' ? [value.split('/').pop()!] : []; // a link is known by its last part as well
    return [...(secretFields.has(name) ? [value, ...last] : []), ...(value.match(aKey) ?? []), ...query].filter(
      (s) => s.length >= leastLength && !anId.test(s),
    );
  }
  if (value === null || typeof value !== 'object') return [];
  if (Array.isArray(value)) return value.flatMap((one) => secretsIn(one, name));
  // What stands inside a secret field (the values of headers) is secret whatever it is called there.
  return Object.entries(value).flatMap(([field, inner]) => secretsIn(inner, secretFields.has(name) ? name : field));
}

/** The secret fields of an operation's body, as paths: `http.headers`. */
export function secretInputs({ body }: Op): string[] {
  const walk = (schema: unknown, path: string[]): string[] => {
    if (schema === null || typeof schema !== 'object') return [];
    const { properties = {}, items, anyOf } = schema as { properties?: Record<string, unknown>; items?: unknown; anyOf?: unknown[] };
    return [
      ...Object.entries(properties).flatMap(([name, inner]) =>
        secretFields.has(name) ? [[...path, name].join('.')] : walk(inner, [...path, name]),
      ),
      ...walk(items, path),
      ...(anyOf ?? []).flatMap((inner) => walk(inner, path)),
    ];
  };
  return walk(body, []);
}

/** Which of these paths a body fills; of a list, its first. */
export const filled = (paths: string[], body: unknown) =>
  paths.filter((path) => path.split('.').reduce<unknown>((at, name) => firstOf(at)?.[name], body) !== undefined);
const firstOf = (at: unknown) => (Array.isArray(at) ? at[0] : at) as Record<string, unknown> | undefined;
