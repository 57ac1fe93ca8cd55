/**
 * Status pages: the public view of services, published incidents and maintenance. docs/areas/status-pages.md lists addresses and limits.
 *
 * Actors. A team creates pages and publishes incident updates through on-call. Readers request pages without a login and subscribe by mail.
 *
 * Data flow:
 *   request → `planes/public` (page cache) → `engine/load-board.ts` (services, public incidents, uptime) → `rules/board.ts` (the board:
 *     all public data of a page) → `views/render` (HTML, JSON, feeds, Statuspage API)
 *   update → job `status.announce-update` → `engine/announce.ts` (batches of 500 subscribers) → job `status.send-update` → mail.
 *   subscribe form → `engine/subscriptions.ts` → `engine/confirmation-limits.ts` → job `status.send-confirmation`.
 *
 * States. A subscriber is pending until confirmed within 24 hours, then active. An incident is public while it has an update.
 *
 * Crashes. Pages, subscribers, mail counters and the progress of announcements are in PostgreSQL. A killed job continues after the last
 * committed batch; a mail may be sent twice with one Message-ID. The page cache is per process, and is filled again at start.
 */
import { defineArea } from '../area.ts';
import { statusSearch } from './engine/ports/search.ts';
import { statusStory } from './engine/ports/story.ts';
import { jobs } from './jobs.ts';
import { openStatus } from './open.ts';
import { checkStatusPageDomain } from './operations/check-status-page-domain.ts';
import { createStatusPage } from './operations/create-status-page.ts';
import { deleteStatusPage } from './operations/delete-status-page.ts';
import { getStatusPage } from './operations/get-status-page.ts';
import { listStatusPageSubscribers } from './operations/list-status-page-subscribers.ts';
import { listStatusPages } from './operations/list-status-pages.ts';
import { removeStatusPageSubscriber } from './operations/remove-status-page-subscriber.ts';
import { updateStatusPage } from './operations/update-status-page.ts';
import { tasks } from './tasks.ts';

export const status = defineArea({
  name: 'status',
  operations: [
    listStatusPages,
    createStatusPage,
    getStatusPage,
    updateStatusPage,
    deleteStatusPage,
    checkStatusPageDomain,
    listStatusPageSubscribers,
    removeStatusPageSubscriber,
  ],
  migrations: { schema: 'status', folder: new URL('./migrations/', import.meta.url) },
  search: [statusSearch],
  story: [statusStory],
  sealed: [{ table: 'status.subscriber', column: 'token', id: 'id' }],
  jobs,
  tasks,
  open: openStatus,
});
