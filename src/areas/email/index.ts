import { defineArea } from '../area.ts';
import { loadSendKey } from './engine/send-keys.ts';
import { jobs } from './jobs.ts';
import { openEmail } from './open.ts';
import { armDomainReceiving } from './operations/arm-domain-receiving.ts';
import { cancelMessage } from './operations/cancel-message.ts';
import { checkDomain } from './operations/check-domain.ts';
import { createDomain } from './operations/create-domain.ts';
import { createRoute } from './operations/create-route.ts';
import { createSendKey } from './operations/create-send-key.ts';
import { createSuppression } from './operations/create-suppression.ts';
import { createWebhook } from './operations/create-webhook.ts';
import { deleteDomain } from './operations/delete-domain.ts';
import { deleteRoute } from './operations/delete-route.ts';
import { deleteSuppression } from './operations/delete-suppression.ts';
import { deleteWebhook } from './operations/delete-webhook.ts';
import { getDomain } from './operations/get-domain.ts';
import { getDomainDns } from './operations/get-domain-dns.ts';
import { getEmailSettings } from './operations/get-email-settings.ts';
import { getMessage } from './operations/get-message.ts';
import { getMessageContent } from './operations/get-message-content.ts';
import { listDomains } from './operations/list-domains.ts';
import { listMessages } from './operations/list-messages.ts';
import { listRoutes } from './operations/list-routes.ts';
import { listSendKeys } from './operations/list-send-keys.ts';
import { listSuppressions } from './operations/list-suppressions.ts';
import { listWebhookDeliveries } from './operations/list-webhook-deliveries.ts';
import { listWebhooks } from './operations/list-webhooks.ts';
import { redeliverWebhook } from './operations/redeliver-webhook.ts';
import { revokeSendKey } from './operations/revoke-send-key.ts';
import { rotateWebhookSecret } from './operations/rotate-webhook-secret.ts';
import { sendEmail } from './operations/send-email.ts';
import { sendEmailBatch } from './operations/send-email-batch.ts';
import { updateWebhook } from './operations/update-webhook.ts';
import { namedDomains } from './store/domains.ts';
import { listStored } from './store/retention.ts';
import { tasks } from './tasks.ts';

export { findMailHostTrouble, mailHostOf } from './engine/mail-host.ts';
export * as posture from './engine/sending-pause.ts';
export { freeSender, showSenders } from './engine/receiving/free-sender.ts';
export { segmentFolder, segmentPrefix } from './engine/segments.ts';
export { queueFigures, waitingMail } from './store/figures.ts';
export { heldAway } from './store/holders.ts';
export { unstoredSegments } from './store/segments.ts';

export const email = defineArea({
  name: 'email',
  operations: [
    listDomains,
    createDomain,
    getDomain,
    deleteDomain,
    getDomainDns,
    checkDomain,
    armDomainReceiving,
    listRoutes,
    createRoute,
    deleteRoute,
    listSendKeys,
    createSendKey,
    revokeSendKey,
    listMessages,
    getMessage,
    getMessageContent,
    getEmailSettings,
    listSuppressions,
    createSuppression,
    deleteSuppression,
    sendEmail,
    sendEmailBatch,
    cancelMessage,
    listWebhooks,
    createWebhook,
    updateWebhook,
    deleteWebhook,
    rotateWebhookSecret,
    listWebhookDeliveries,
    redeliverWebhook,
  ],
  migrations: { schema: 'email', folder: new URL('./migrations/', import.meta.url) },
  resources: [{ service: 'email', permission: 'email.domain.read', list: namedDomains }],
  loaders: { mail: loadSendKey },
  sealed: [
    { table: 'email.domain', column: 'rsa_private', id: 'id' },
    { table: 'email.domain', column: 'ed_private', id: 'id' },
    { table: 'email.webhook', column: 'secret', id: 'id' },
    { table: 'email.return_path_key', column: 'sealed', id: '(one::text)' },
  ],
  jobs,
  tasks,
  stored: listStored,
  open: openEmail,
});
