import type { Access } from '../../rules/access.ts';
import type { Call } from './request.ts';

/** Pause between two checks of a credential that is dropped repeatedly. */
const recheckMs = 100;

/**
 * Calls `end` once the caller has lost its right. An aborted signal may only mean that a cache was dropped, so the credential is loaded
 * again first. Returns a function that stops watching.
 */
export function watchAccess({ plane, request, access }: Call, may: (access: Access) => boolean, end: () => void): () => void {
  const over = new AbortController();
  const ask = async (current: Access) => {
    const now = await (current.reload ? current.reload() : plane.authenticate(request));
    if (over.signal.aborted) return;
    if (!now || !may(now)) end();
    else if (now.signal.aborted) setTimeout(watch, recheckMs, now).unref();
    else watch(now);
  };
  const watch = (current: Access) => {
    // Deferred: the signal is aborted while a cache is being dropped, and a lookup would fill it again.
    const look = () => void Promise.resolve(current).then(ask).catch(end);
    if (current.signal.aborted) look();
    else current.signal.addEventListener('abort', look, { once: true, signal: over.signal });
  };
  watch(access);
  return () => over.abort();
}
