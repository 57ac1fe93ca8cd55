/*
 * Live: hints about what changes, for people who look at it now. docs/areas/live.md tells clients what to do at each event.
 *
 * Actors. A member with a session or a personal token opens GET /events. Transactions mark what they change (`hint`, kernel/jobs/news.ts):
 * every write of an operation by its contract (identity/context.ts), engines that act by themselves where they change a state.
 *
 * Flow. COMMIT → the waker of this process tells the hub at once, and other processes by NOTIFY, packed, ten times a second at most →
 * engine/hub.ts finds the organization's room, which lets a hint pass each 250 ms → each audience (engine/audience.ts: the streams of one
 * credential) leaves out the kinds that it may not read → engine/stream.ts writes, or keeps the kinds for a slow reader.
 *
 * States of an audience. Certain (hints pass) → in doubt (the principal was dropped from the cache: hints wait until it is looked up again) →
 * certain, or refused (its streams end). Deaf while this process hears no other one, or its rights stay in doubt: hints may be missing, and
 * the streams know it; the next certain moment names every kind.
 *
 * Crash. Everything here is memory. A killed server takes its streams along, and the hints of its last 100 ms, so clients ask for everything
 * after each connect, and now and then.
 */

import { defineArea } from '../area.ts';
import { type OpenLive, openLive } from './open.ts';
import { streamEvents } from './operations/stream-events.ts';

export const live = defineArea<OpenLive>({
  name: 'live',
  operations: [streamEvents],
  open: openLive,
});
