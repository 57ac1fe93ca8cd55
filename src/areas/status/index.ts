import type { App } from '../../kernel/app.ts';
import { defineArea } from '../area.ts';
import { jobs } from './jobs.ts';
import { createStatusPage } from './operations/create-status-page.ts';
import { deleteStatusPage } from './operations/delete-status-page.ts';
import { getStatusPage } from './operations/get-status-page.ts';
import { listStatusPageSubscribers } from './operations/list-status-page-subscribers.ts';
import { listStatusPages } from './operations/list-status-pages.ts';
import { removeStatusPageSubscriber } from './operations/remove-status-page-subscriber.ts';
import { updateStatusPage } from './operations/update-status-page.ts';
import { makeForms } from './planes/public/forms.ts';
import { publicHandler } from './planes/public/handler.ts';
import { type Memory, makeMemory } from './planes/public/memory.ts';
import { tasks } from './tasks.ts';

/** What the handler and the start of one process share. */
const memories = new WeakMap<App, Memory>();

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
  raw: (app) => {
    const memory = makeMemory(app);
    memories.set(app, memory);
    return publicHandler(app, memory, makeForms(app));
  },
  start: async (app) => {
    const memory = memories.get(app);
    // In the background: a start does not wait for it, and a reader who comes first reads for himself.
    const warming = memory?.warm().catch((error) => app.log.warn({ err: error }, 'status pages could not be read ahead'));
    return {
      stop: async () => {
        memory?.stop();
        await warming;
      },
    };
  },
});
