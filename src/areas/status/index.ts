import { defineArea } from '../area.ts';
import { jobs } from './jobs.ts';
import { openStatus } from './open.ts';
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
    listStatusPageSubscribers,
    removeStatusPageSubscriber,
  ],
  migrations: { schema: 'status', folder: new URL('./migrations/', import.meta.url) },
  sealed: [{ table: 'status.subscriber', column: 'token', id: 'id' }],
  jobs,
  tasks,
  open: openStatus,
});
