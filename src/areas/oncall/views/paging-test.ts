import type { ChannelName } from '../rules/channels.ts';
import type { TestPageRow } from '../store/test-pages.ts';

/** A test with what became of each page. */
export const pagingTestView = (pages: readonly TestPageRow[], warnings: ReadonlyMap<ChannelName, string> = new Map()) => ({
  ...(pages[0] ? { startedAt: pages[0].created_at } : {}),
  pages: pages.map((page) => ({
    id: page.id,
    channel: page.channel,
    ...(page.address === null ? {} : { address: page.address }),
    state: page.state,
    attempts: page.attempts,
    ...(page.error === null ? {} : { error: page.error }),
    ...(warnings.has(page.channel) ? { warning: warnings.get(page.channel)! } : {}),
    ...(page.sent_at === null ? {} : { sentAt: page.sent_at }),
    ...(page.ended_at === null ? {} : { endedAt: page.ended_at }),
  })),
});
