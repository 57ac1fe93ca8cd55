import Type from 'typebox';
import { area, eventStream, op } from './common.ts';

export const live = area(
  {
    name: 'live',
    label: 'Live',
    description: 'Hints about what changes, as it changes',
    unauthenticated: 'unauthenticated',
    away: 503,
  },
  {
    streamEvents: op({
      method: 'GET',
      path: '/events',
      summary: 'Hear what changes, as it changes',
      description:
        'An endless stream of server-sent events: hints, never data. `hello` is first, with the server’s `version` and the `kinds` that this caller may read. `changed` names `kinds` that may have changed: ask again, by the operations whose `x-kinds` name one. `rights`: what the caller may do has changed, and the kinds with it. `deaf`: hints may be missing, so ask now and then; a `changed` ends it. `refused` ends the stream for the reason that it gives. `bye` ends it with `retryAfterMs`, after which to come back. A comment comes every 15 seconds. After each connect, ask for everything once.',
      permission: 'member',
      kinds: [],
      responses: { 200: Type.String() },
      produces: eventStream,
      errors: {
        429: 'too many requests, or too many open streams of this person or organization; Retry-After says when to come back',
        503: 'temporarily unavailable, or this server has as many open streams as it can carry',
      },
      extension: true,
    }),
  },
);
