import { GuardFailure, type GuardResponse, type Timeouts } from '../../../../kernel/guard/index.ts';
import { UpstreamAway } from '../../rules/errors.ts';

/** How long an upstream may take for anything but a layer. */
export const short: Timeouts = { connectMs: 5_000, headersMs: 10_000, idleMs: 10_000, totalMs: 20_000 };

/** The answer, or UpstreamAway when there was none. */
export const unlessUnreachable = (who: string, asking: Promise<GuardResponse>): Promise<GuardResponse> =>
  asking.catch((error) => {
    if (error instanceof GuardFailure) throw new UpstreamAway(`${who} is unreachable: ${error.message}`, { cause: error });
    throw error;
  });

/** An upstream that asks for more is asked again after this long. One answer, perhaps of a proxy, must not switch a cache off for an hour. */
const longestWaitSeconds = { limited: 300, failing: 60 };

/** The answer, or UpstreamAway when it says that the upstream fails or limits us. */
export function refuseAway(host: string, answer: GuardResponse): GuardResponse {
  if (answer.status !== 429 && answer.status < 500) return answer;
  answer.cancel();
  const isLimited = answer.status === 429;
  const wait = Number(answer.headers['retry-after']); // NaN for a date: the default holds
  const longest = isLimited ? longestWaitSeconds.limited : longestWaitSeconds.failing;
  const retrySeconds = Math.min(longest, wait > 0 ? wait : isLimited ? 60 : 10);
  if (isLimited)
    throw new UpstreamAway(`the upstream ${host} limits how often it is asked; bring your own login for it, or try again later`, {
      limited: true,
      retrySeconds,
    });
  // 500 is how a registry says that it stumbled over this one thing, such as a manifest that it cannot read itself; 502, 503 and 504
  // are about all of it.
  throw new UpstreamAway(`the upstream ${host} fails with ${answer.status}`, { retrySeconds, isAlone: answer.status === 500 });
}
