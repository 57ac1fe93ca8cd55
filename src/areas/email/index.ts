// The email area: accepts mail from programs, sends it, receives mail for domains, and reports outcomes to webhook endpoints.
//
// Actors
//   planes/      protocol servers: SMTP submission, MX, and Resend's HTTP API. `operations/` are the control API's handlers, one file each.
//   engine/      the work: intake, queue, sending, receiving, feedback, webhooks, domains.
//   rules/       pure decisions without I/O: addresses, DNS records, retry delays, bounce classification (bounces/), reports (report/).
//   store/       every SQL statement of the area, by table or queue. `views/` turn rows into API and event bodies.
//   clients/     outgoing protocols: SMTP (smtp/), MX, MTA-STS, DANE, DKIM, webhooks, and the threads that parse untrusted mail (reader/).
//
// Sending: plane or operation -> engine/intake (a batch: bytes into a segment, rows by store/accept) -> engine/queue (recipients under leases)
// -> engine/sending -> outcome -> store/queue (rows, events, suppressions) -> webhook deliveries, which are jobs.
// Receiving: planes/mx decides at RCPT -> engine/receiving (segment, arrival row) -> clients/reader -> `email.received`, or a report that
// changes the recipient of its return path (engine/feedback).
//
// States of a recipient: queued, sending, deferred; final are sent, delivered, bounced, complained, suppressed and failed.
// States of a received message: received, then delivered or failed. States of a delivery: pending, delivering, delivered, failed.
//
// What survives a crash: accepted mail, since segment and rows are durable before the answer. Leases lapse after 60 s, and another process
// continues. Final outcomes are in a journal on disk before they are in the database. Events are written in the transaction of their cause.

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
export { freeSender, showSenders } from './engine/receiving/free-sender.ts';
export { segmentFolder, segmentPrefix } from './engine/segments.ts';
export * as posture from './engine/sending-pause.ts';
export { mailOnAbsentDisks } from './store/data-directories.ts';
export { countQueue, countQueuedRecipients } from './store/queue-counts.ts';
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
