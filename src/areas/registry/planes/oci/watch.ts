import type { Access } from '../../rules/access.ts';
import type { Call } from './call.ts';

/** Between two looks at a credential that is being dropped all the time. */
const askAgainMs = 100;

/** Calls `end` once the caller may not go on any more. A signal alone says little (a cache was emptied), so the credential is looked
 *  up anew first. Returns what stops watching. */
export function watchAccess({ plane, request, access }: Call, may: (access: Access) => boolean, end: () => void): () => void {
  const over = new AbortController();
  const ask = async (current: Access) => {
    const now = await (current.again ? current.again() : plane.authenticate(request));
    if (over.signal.aborted) return;
    if (!now || !may(now)) end();
    else if (now.signal.aborted) setTimeout(watch, askAgainMs, now).unref();
    else watch(now);
  };
  const watch = (current: Access) => {
    // In a turn of its own: the signal is aborted while somebody else empties a cache, and asking again fills it.
    const look = () => void Promise.resolve(current).then(ask).catch(end);
    if (current.signal.aborted) look();
    else current.signal.addEventListener('abort', look, { once: true, signal: over.signal });
  };
  watch(access);
  return () => over.abort();
}
