import assert from 'node:assert/strict';
import http from 'node:http';
import { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import { type LiveEvent, readEvents } from '../../../../sdk/events.ts';

export interface Listening {
  status: number;
  headers: http.IncomingHttpHeaders;
  /** Every event but beats, as it came. */
  events: LiveEvent[];
  /** The next event that was not taken yet; it must have this name. */
  next(name: string): Promise<LiveEvent>;
  /** The next event of this name, after hints of what the test did before. */
  afterHints(name: string): Promise<LiveEvent>;
  /** The kinds of the next event, which must be `changed`. */
  changed(): Promise<string[]>;
  /** Resolves when the server has ended the stream. */
  ended: Promise<void>;
  leave(): void;
}

/** Opens a stream, and takes its `hello`. */
export async function listens(
  t: TestContext,
  url: string,
  headers: Record<string, string>,
  options: { takesHello?: boolean } = {},
): Promise<Listening> {
  const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
    http.get(`${url}/api/v1/events`, { headers, agent: false }, resolve).on('error', reject);
  });
  t.after(() => response.destroy());
  const events: LiveEvent[] = [];
  let taken = 0;
  let arrived = Promise.withResolvers<void>();
  let isOver = false;
  const ended = (async () => {
    try {
      for await (const event of readEvents(new Response(Readable.toWeb(response) as never))) {
        if (event.name === 'beat') continue;
        events.push(event);
        arrived.resolve();
        arrived = Promise.withResolvers();
      }
    } catch {
      // the test closed it, or the server cut it
    } finally {
      isOver = true;
      arrived.resolve();
    }
  })();
  const next = async (name: string): Promise<LiveEvent> => {
    while (events.length <= taken && !isOver) await arrived.promise;
    const event = events[taken++];
    assert.ok(event, `the stream ended instead of saying ${name}`);
    assert.equal(event.name, name, JSON.stringify(event.data));
    return event;
  };
  const listening: Listening = {
    status: response.statusCode!,
    headers: response.headers,
    events,
    next,
    afterHints: async (name) => {
      for (;;) {
        while (events.length <= taken && !isOver) await arrived.promise;
        if (events[taken]?.name !== 'changed') return next(name);
        taken++;
      }
    },
    changed: async () => (await next('changed')).data['kinds'] as string[],
    ended,
    leave: () => response.destroy(),
  };
  if (response.statusCode === 200 && options.takesHello !== false) await next('hello');
  return listening;
}

export const bearer = ({ key }: { key: string }) => ({ authorization: `Bearer ${key}` });
