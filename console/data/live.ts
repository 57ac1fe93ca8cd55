import { signal } from '@preact/signals';
import { readEvents } from '../../sdk/browser.ts';
import { isActing } from './act.ts';
import { ApiError, apiOf, isSignedOut } from './api.ts';
import { deviceNow } from './clock.ts';
import { refresh } from './query.ts';
import { makeRounds } from './rounds.ts';
import { type Liveness, type Told, toldIn } from './told.ts';

// Changes as they happen. The server sends hints (“incidents changed”), never data. One tab of a browser holds the stream, for six open
// streams would use up the connections of HTTP/1.1; it tells the other tabs. The tab with the Web Lock is the one; without Web Locks each tab
// asks for itself every 15 s.
//
// States: live → cut (the stream ended, or 35 s without a beat) → waiting (growing pauses) → live. After each begin, everything on the screen is
// asked anew, since changes in between were missed. While it is cut, what is on the screen is asked every 15 s, and the mark says so.
//
// A phone that slept, a network that went away and a tab that the browser froze end no stream. So each tab notes when it last heard a beat, by the
// wall clock, and does not trust a stream that is older when the page is looked at again.

export const liveness = signal<Liveness>('connecting');
/** Another release of the server answers: the console of the page is older. */
export const isOutdated = signal(false);

const beatTimeoutMs = 35_000;
const pollMs = 15_000;
const maxPauseMs = 60_000;
/** A server that dies between a change and its hint leaves no trace: everything on the screen is asked as often as this without one. */
const askAllMs = 5 * 60_000;
/** The same for a page that is looked at again. */
const askAgainMs = 60_000;

/** The last word of the stream, heard by this tab or told by the one that has it. */
let heardAt = deviceNow();
const isStale = (): boolean => deviceNow() - heardAt > beatTimeoutMs;
let askedAllAt = deviceNow();
/** Of the tab with the stream: ends it, or the pause before the next one. */
let reconnect: (() => void) | undefined;
let version: string | undefined;
let stopCurrent: (() => void) | undefined;

/** Follows the changes of one organization until another is followed. */
export function followChanges(slug: string): void {
  stopCurrent?.();
  const stopping = new AbortController();
  stopCurrent = () => stopping.abort();
  const channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel(`quarterdeck ${slug}`) : undefined;
  stopping.signal.addEventListener('abort', () => channel?.close());
  // What the tab with the stream told last: one that is opened later asks for it.
  let last: Told | undefined;
  const tell = (told: Told) => {
    hear(told);
    if (told.liveness) last = { ...last, liveness: told.liveness, ...(told.version ? { version: told.version } : {}) };
    if (!stopping.signal.aborted) channel?.postMessage(told);
  };
  channel?.addEventListener('message', ({ data }) => {
    const told = toldIn(data);
    if (told.asks && last && !stopping.signal.aborted) channel.postMessage(last);
    hear(told);
  });
  pollWhileCut(stopping.signal);
  watchNetwork(stopping.signal);
  if (!channel || !navigator.locks) {
    liveness.value = 'polling';
    return;
  }
  const { locks } = navigator;
  const takeTurns = async () => {
    for (; !stopping.signal.aborted; await signedIn(stopping.signal)) {
      await locks.request(`quarterdeck live ${slug}`, { signal: stopping.signal }, () => hold(slug, tell, stopping.signal));
      // Another organization may be followed already, by a stream of its own.
      if (!stopping.signal.aborted) reconnect = undefined;
      last = undefined;
    }
  };
  takeTurns().catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error;
  });
  // A tab without the lock hears the tab that has it; it asks once how things stand.
  channel.postMessage({ asks: true } satisfies Told);
  setTimeout(() => {
    if (liveness.value === 'connecting') liveness.value = 'polling';
  }, 10_000);
}

const changed = makeRounds({
  ask: (kinds) => refresh(kinds === 'all' ? undefined : kinds),
  isHeld: () => isActing() || document.hidden,
});

function askAll(): void {
  askedAllAt = deviceNow();
  changed('all');
}

function hear({ kinds, liveness: told, version: seen }: Told): void {
  if (told || kinds) heardAt = deviceNow();
  if (told) {
    const was = liveness.value;
    liveness.value = told;
    if (told === 'live' && was !== 'live') askAll();
  }
  if (seen) {
    version ??= seen;
    isOutdated.value = seen !== version;
  }
  if (kinds) changed(kinds);
}

async function hold(slug: string, tell: (told: Told) => void, stop: AbortSignal): Promise<void> {
  for (let failures = 0; !stop.aborted; ) {
    const began = performance.now();
    const cut = new AbortController();
    const either = AbortSignal.any([stop, cut.signal]);
    reconnect = () => cut.abort();
    const pauseMs = await follow(slug, tell, either).catch(() => undefined);
    if (stop.aborted) return;
    if (performance.now() - began > beatTimeoutMs) failures = 0;
    tell({ liveness: navigator.onLine ? 'polling' : 'offline' });
    if (isSignedOut.value) return;
    // Spread, so that a thousand browsers do not come back in the same second.
    const pause = (pauseMs ?? Math.min(maxPauseMs, 1_000 * 2 ** failures++)) * (0.75 + spread() / 2);
    await sleep(pause, either);
  }
}

/** Until this tab knows of a session again: it gave the stream up when the last one ended. */
async function signedIn(stop: AbortSignal): Promise<void> {
  let unsubscribe = () => {};
  await new Promise<void>((resolve) => {
    unsubscribe = isSignedOut.subscribe((isOut) => void (isOut || resolve()));
    stop.addEventListener('abort', () => resolve());
  });
  unsubscribe();
}

const spread = (): number => crypto.getRandomValues(new Uint32Array(1))[0]! / 2 ** 32;

/** One stream, until it ends. Answers with the pause that the server asks for, if it does. */
async function follow(slug: string, tell: (told: Told) => void, stop: AbortSignal): Promise<number | undefined> {
  const silence = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const beat = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), beatTimeoutMs);
  };
  beat();
  let state: Liveness = 'connecting';
  const tellState = (now: Liveness, told: Told = {}) => {
    state = now;
    tell({ ...told, liveness: now });
  };
  try {
    const response = await apiOf(slug).live.streamEvents({ signal: AbortSignal.any([stop, silence.signal]), background: true });
    for await (const { name, data } of readEvents(response)) {
      beat();
      if (name === 'hello') tellState('live', { version: String(data['version'] ?? '') });
      // Hints come again from a server that was deaf for a while.
      else if (name === 'changed') tellState('live', toldIn({ kinds: data['kinds'] }));
      // The other tabs count beats too: this one may be frozen.
      else if (name === 'beat') tell({ liveness: state });
      // Another role or grant: what is on the screen may be less, or more.
      else if (name === 'rights') tell({ kinds: 'all' });
      else if (name === 'deaf') tellState('polling');
      else if (name === 'bye') return Number(data['retryAfterMs']) || 1_000;
      else if (name === 'refused') {
        if (data['status'] === 401) isSignedOut.value = true;
        tell({ kinds: 'all' });
        return maxPauseMs;
      }
    }
    return undefined;
  } catch (error) {
    if (error instanceof ApiError && error.retryAfter !== undefined) return error.retryAfter * 1_000;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function pollWhileCut(stop: AbortSignal): void {
  const timer = setInterval(() => {
    if (liveness.value === 'live' && isStale()) liveness.value = 'polling';
    if (document.hidden || isSignedOut.value) return;
    if (liveness.value !== 'live') void refresh();
    else if (deviceNow() - askedAllAt > askAllMs) askAll();
  }, pollMs);
  stop.addEventListener('abort', () => clearInterval(timer));
}

/** The network changed, or a page whose stream is old is looked at again: a new stream tells how things stand. */
function watchNetwork(stop: AbortSignal): void {
  const tryAgain = () => reconnect?.();
  const look = () => {
    if (document.hidden || isSignedOut.value) return;
    const isOld = isStale();
    if (isOld && liveness.value === 'live') liveness.value = 'polling';
    if (isOld && reconnect) reconnect();
    else if (isOld || deviceNow() - askedAllAt > askAgainMs) askAll();
  };
  addEventListener('online', tryAgain, { signal: stop });
  addEventListener('offline', tryAgain, { signal: stop });
  document.addEventListener('visibilitychange', look, { signal: stop });
}

const sleep = (ms: number, stop: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, stop.aborted ? 0 : ms);
    stop.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
