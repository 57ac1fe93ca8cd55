// The email area: accepts mail from programs, sends it, receives mail for domains, and reports outcomes to webhook endpoints.
//
// Sub-areas, each with the rooms operations, planes, engine, clients, store, rules and views as needed. Each knows only those before it:
//   webhooks/    endpoints, events, and deliveries, which are jobs. Every other sub-area emits events.
//   domains/     claims of a name, DKIM keys, DNS records and their checks.
//   outbound/    sending. planes/smtp (submission) and planes/resend (Resend's HTTP API); engine/intake, queue, sending and feedback;
//                clients/smtp, mx, mta-sts, dane, dkim; rules/bounces and rules/report; send keys, suppressions and the sending pause.
//   inbound/     receiving. planes/mx; engine (destinations, intake, arrivals, routes); clients/reader, threads that parse untrusted mail.
// Shared by all: engine/ (segments, batches, slots of leased items, retention), rules/ (addresses, headers, limits) and store/.
// Within a sub-area operations/ are the control API's handlers, one file each, and store/ has every SQL statement, by table or queue;
// outbound/store is the largest: accept and intake (batches), queue (leases, outcomes), feedback (reports), messages, send keys, suppressions.
//
// Sending: plane or operation -> outbound/engine/intake (a batch: bytes into a segment, rows by store/accept or store/intake) -> engine/queue
// (recipients under leases) -> engine/sending -> outcome -> store/queue (rows, events, suppressions) -> webhook deliveries.
// Receiving: inbound/planes/mx decides at RCPT -> inbound/engine (segment, arrival row) -> clients/reader -> `email.received`, or a report
// that changes the recipient of its return path (outbound/engine/feedback).
//
// States of a recipient: queued, sending, deferred; final are sent, delivered, bounced, complained, suppressed and failed.
// States of a received message: received, then delivered or failed. States of a delivery: pending, delivering, delivered, failed.
//
// What survives a crash: accepted mail, since segment and rows are durable before the answer. Leases lapse after 60 s, and another process
// continues. Final outcomes are in a journal on disk before they are in the database. Events are written in the transaction of their cause.

import { defineArea } from '../area.ts';
import { domainsOverview } from './domains/engine/ports/overview.ts';
import { domainsSearch } from './domains/engine/ports/search.ts';
import { armDomainReceiving } from './domains/operations/arm-domain-receiving.ts';
import { checkDomain } from './domains/operations/check-domain.ts';
import { createDomain } from './domains/operations/create-domain.ts';
import { deleteDomain } from './domains/operations/delete-domain.ts';
import { getDomain } from './domains/operations/get-domain.ts';
import { getDomainDns } from './domains/operations/get-domain-dns.ts';
import { listDomains } from './domains/operations/list-domains.ts';
import { namedDomains } from './domains/store/domains.ts';
import { inboundSearch } from './inbound/engine/ports/search.ts';
import { createRoute } from './inbound/operations/create-route.ts';
import { deleteRoute } from './inbound/operations/delete-route.ts';
import { listRoutes } from './inbound/operations/list-routes.ts';
import { matchRoute } from './inbound/operations/match-route.ts';
import { jobs } from './jobs.ts';
import { openEmail } from './open.ts';
import { outboundOverview } from './outbound/engine/ports/overview.ts';
import { outboundSearch } from './outbound/engine/ports/search.ts';
import { loadSendKey } from './outbound/engine/send-keys.ts';
import { cancelMessage } from './outbound/operations/cancel-message.ts';
import { createSendKey } from './outbound/operations/create-send-key.ts';
import { createSuppression } from './outbound/operations/create-suppression.ts';
import { deleteSuppression } from './outbound/operations/delete-suppression.ts';
import { getEmailSettings } from './outbound/operations/get-email-settings.ts';
import { getEmailStats } from './outbound/operations/get-email-stats.ts';
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
import { webhooksOverview } from './webhooks/engine/ports/overview.ts';
import { webhooksSearch } from './webhooks/engine/ports/search.ts';
import { createWebhook } from './webhooks/operations/create-webhook.ts';
import { deleteWebhook } from './webhooks/operations/delete-webhook.ts';
import { getWebhookDelivery } from './webhooks/operations/get-webhook-delivery.ts';
import { listWebhookDeliveries } from './webhooks/operations/list-webhook-deliveries.ts';
import { listWebhooks } from './webhooks/operations/list-webhooks.ts';
import { redeliverWebhook } from './webhooks/operations/redeliver-webhook.ts';
import { rotateWebhookSecret } from './webhooks/operations/rotate-webhook-secret.ts';
import { updateWebhook } from './webhooks/operations/update-webhook.ts';

export { findMailHostTrouble, mailHostOf } from './domains/engine/mail-host.ts';
export { recordsToPublish } from './domains/engine/records-to-publish.ts';
export { segmentFolder, segmentPrefix } from './engine/segments.ts';
export { freeSender, showSenders } from './inbound/engine/free-sender.ts';
export * as posture from './outbound/engine/sending-pause.ts';
export { countQueue, countQueuedRecipients } from './outbound/store/queue-counts.ts';
export { mailOnAbsentDisks } from './store/data-directories.ts';
export { unstoredSegments } from './store/segments.ts';
export { findSigner } from './webhooks/engine/verify-delivery.ts';

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
    matchRoute,
    deleteRoute,
    listSendKeys,
    createSendKey,
    revokeSendKey,
    listMessages,
    getMessage,
    getMessageContent,
    getEmailSettings,
    getEmailStats,
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
    getWebhookDelivery,
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
  overview: [domainsOverview, webhooksOverview, outboundOverview],
  search: [domainsSearch, webhooksSearch, outboundSearch, inboundSearch],
  jobs,
  tasks,
  stored: listStored,
  open: openEmail,
});
