import { defineArea } from '../area.ts';
import { openEmail } from './open.ts';
import { createSuppression } from './operations/create-suppression.ts';
import { deleteSuppression } from './operations/delete-suppression.ts';
import { getEmailSettings } from './operations/get-email-settings.ts';
import { getMessage } from './operations/get-message.ts';
import { getMessageContent } from './operations/get-message-content.ts';
import { listMessages } from './operations/list-messages.ts';
import { listSuppressions } from './operations/list-suppressions.ts';
import { listStored } from './store/retention.ts';
import { tasks } from './tasks.ts';

export const email = defineArea({
  name: 'email',
  operations: [listMessages, getMessage, getMessageContent, getEmailSettings, listSuppressions, createSuppression, deleteSuppression],
  tasks,
  stored: listStored,
  open: openEmail,
  migrations: { schema: 'email', folder: new URL('./migrations/', import.meta.url) },
  sealed: [
    { table: 'email.domain', column: 'rsa_private', id: 'id' },
    { table: 'email.domain', column: 'ed_private', id: 'id' },
    { table: 'email.return_path_key', column: 'sealed', id: '(one::text)' },
  ],
});
