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
import { armDomainReceiving } from './domains/operations/arm-domain-receiving.ts';
import { checkDomain } from './domains/operations/check-domain.ts';
import { createDomain } from './domains/operations/create-domain.ts';
import { deleteDomain } from './domains/operations/delete-domain.ts';
import { getDomain } from './domains/operations/get-domain.ts';
import { getDomainDns } from './domains/operations/get-domain-dns.ts';
import { listDomains } from './domains/operations/list-domains.ts';
import { namedDomains } from './domains/store/domains.ts';
import { createRoute } from './inbound/operations/create-route.ts';
import { deleteRoute } from './inbound/operations/delete-route.ts';
import { listRoutes } from './inbound/operations/list-routes.ts';
import { jobs } from './jobs.ts';
import { openEmail } from './open.ts';
import { loadSendKey } from './outbound/engine/send-keys.ts';
import { cancelMessage } from './outbound/operations/cancel-message.ts';
import { createSendKey } from './outbound/operations/create-send-key.ts';
import { createSuppression } from './outbound/operations/create-suppression.ts';
import { deleteSuppression } from './outbound/operations/delete-suppression.ts';
import { getEmailSettings } from './outbound/operations/get-email-settings.ts';
import { getMessage } from './outbound/operations/get-message.ts';
import { getMessageContent } from './outbound/operations/get-message-content.ts';
import { listMessages } from './outbound/operations/list-messages.ts';
import { listSendKeys } from './outbound/operations/list-send-keys.ts';
import { listSuppressions } from './outbound/operations/list-suppressions.ts';
import { revokeSendKey } from './outbound/operations/revoke-send-key.ts';
import { sendEmail } from './outbound/operations/send-email.ts';
import { sendEmailBatch } from './outbound/operations/send-email-batch.ts';
import { listStored } from './store/retention.ts';
import { tasks } from './tasks.ts';
import { createWebhook } from './webhooks/operations/create-webhook.ts';
import { deleteWebhook } from './webhooks/operations/delete-webhook.ts';
import { listWebhookDeliveries } from './webhooks/operations/list-webhook-deliveries.ts';
import { listWebhooks } from './webhooks/operations/list-webhooks.ts';
import { redeliverWebhook } from './webhooks/operations/redeliver-webhook.ts';
import { rotateWebhookSecret } from './webhooks/operations/rotate-webhook-secret.ts';
import { updateWebhook } from './webhooks/operations/update-webhook.ts';

export { findMailHostTrouble, mailHostOf } from './domains/engine/mail-host.ts';
export { segmentFolder, segmentPrefix } from './engine/segments.ts';
export { freeSender, showSenders } from './inbound/engine/free-sender.ts';
export * as posture from './outbound/engine/sending-pause.ts';
export { countQueue, countQueuedRecipients } from './outbound/store/queue-counts.ts';
export { mailOnAbsentDisks } from './store/data-directories.ts';
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
