import { GuardFailure, type GuardResponse, type Timeouts } from '../../../../kernel/guard/index.ts';
import { UpstreamUnavailable } from '../../rules/errors.ts';

/** Timeouts of every upstream request except layer downloads. */
export const shortTimeouts: Timeouts = { connectMs: 5_000, headersMs: 10_000, idleMs: 10_000, totalMs: 20_000 };

/** The answer, or UpstreamUnavailable when the upstream did not answer. */
export const throwIfUnreachable = (who: string, asking: Promise<GuardResponse>): Promise<GuardResponse> =>
  asking.catch((error) => {
    if (error instanceof GuardFailure) throw new UpstreamUnavailable(`${who} is unreachable: ${error.message}`, { cause: error });
    throw error;
  });

/** Cap on an upstream's Retry-After. A single answer, perhaps of a proxy, must not disable the cache for an hour. */
const maxRetryAfterSeconds = { rateLimited: 300, failing: 60 };

/** The answer, or UpstreamUnavailable when the upstream fails or rate-limits us. */
export function throwIfUnavailable(host: string, answer: GuardResponse): GuardResponse {
  if (answer.status !== 429 && answer.status < 500) return answer;
  answer.cancel();
  const isLimited = answer.status === 429;
  const wait = Number(answer.headers['retry-after']); // NaN for a date: the default applies
  const longest = isLimited ? maxRetryAfterSeconds.rateLimited : maxRetryAfterSeconds.failing;
  const retryAfterSeconds = Math.min(longest, wait > 0 ? wait : isLimited ? 60 : 10);
  if (isLimited)
    throw new UpstreamUnavailable(`the upstream ${host} limits how often it is asked; bring your own login for it, or try again later`, {
      isRateLimited: true,
      retryAfterSeconds,
    });
  // With 500 a registry reports a problem with one item, such as a manifest that it cannot read. 502, 503 and 504 concern the whole
  // upstream.
  throw new UpstreamUnavailable(`the upstream ${host} fails with ${answer.status}`, {
    retryAfterSeconds,
    affectsOneItem: answer.status === 500,
  });
}
