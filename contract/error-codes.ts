import { errorsOf, type Op } from './common.ts';

// `X-Error-Code` tells programs what a refusal means, in a word that stays. Every operation declares those that it may give.

/** What a status is called wherever it is given. */
const usual: Record<number, readonly string[]> = {
  400: ['invalid', 'malformed'],
  401: ['unauthenticated'],
  402: ['payment_required'],
  403: ['forbidden'],
  404: ['not_found'],
  408: ['timeout'],
  409: ['conflict'],
  413: ['too_large'],
  415: ['unsupported_media_type'],
  422: ['rejected'],
  429: ['rate_limited'],
  502: ['unreachable', 'unavailable'],
  503: ['unavailable', 'internal'],
};

/** Areas whose operations take addresses that we are to call. */
const calling: ReadonlySet<string> = new Set(['registry', 'email', 'uptime', 'oncall']);
/** Areas that keep more than rows. */
const storing: ReadonlySet<string> = new Set(['registry', 'email']);

/** By status, every code that an operation's refusals may carry. */
export function codesOf(spec: Op): Record<number, string[]> {
  const guarded = spec.permission !== 'none';
  const declared: Record<number, readonly string[]> = { ...spec.codes };
  const further: Record<number, readonly (string | false | undefined)[]> = {
    400: [calling.has(spec.area.name) && 'blocked_target'],
    403: [
      guarded && 'organization_mismatch',
      guarded && !spec.credential && 'second_factor_required',
      spec.entitlement && 'not_entitled',
      spec.personal && 'narrowed_token',
      spec.session && 'session_required',
      (spec.session || spec.fresh) && 'reauthenticate',
    ],
    409: spec.method === 'POST' ? ['idempotency_mismatch', 'idempotency_running', spec.secret && 'idempotency_secret'] : [],
    503: [spec.credential === 'src' && 'rate_limited', ...(storing.has(spec.area.name) ? ['storage_full', 'storage_unavailable'] : [])],
  };
  const isOnlyOfKeys = (status: number) => status === 409 && !(spec.errors?.[409] ?? spec.area.errors?.[409]);
  return Object.fromEntries(
    Object.keys(errorsOf(spec)).map((text) => {
      const status = Number(text);
      const codes = [...(isOnlyOfKeys(status) ? [] : (usual[status] ?? [])), ...(further[status] ?? []), ...(declared[status] ?? [])];
      return [status, codes.filter((code): code is string => typeof code === 'string')];
    }),
  );
}
