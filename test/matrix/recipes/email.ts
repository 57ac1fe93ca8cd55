import { createHash } from 'node:crypto';
import { run } from '../../../src/kernel/db/index.ts';
import { sql } from '../../../src/kernel/sql.ts';
import { byId, type Kitchen, type Maker, made201, type Recipes, scopable, unique } from '../recipe.ts';

const domainBody = () => ({ name: `${unique('mail').replace(' ', '-')}.example.com` });
/** Without going through the API, where making its keys takes a tenth of a second. */
const domain: Maker = async (kitchen) => scopable(await insertDomain(kitchen, domainBody().name));

async function insertDomain({ qd, at }: Kitchen, name: string): Promise<string> {
  const id = `dom_${createHash('sha256').update(name).digest('hex').toUpperCase().slice(0, 26)}`;
  await qd.app.db.write(
    (tx) => run(tx)`
      insert into email.domain (org_id, id, name, send_state, receive_state, created_at, rsa_selector, rsa_public, rsa_private, ed_selector, ed_public,
                                ed_private, next_check_at, state_at)
      values (${at.orgId}, ${id}, ${name}, 'verified', 'none', kernel.now(), 'r', 'AAAA', '', 'e', 'BBBB', '', '2200-01-01T00:00:00Z', kernel.now())
          on conflict do nothing`,
  );
  return id;
}

const keyBody = () => ({ name: unique('key') });
const key: Maker = async ({ at }) => byId((await made201(at.post('/email/keys', keyBody()))).sendKey.id);

/** A key of one domain. */
const domainKey: Maker = async (kitchen) => {
  const body = await keyOf(kitchen);
  const { sendKey: made } = await made201(kitchen.at.post('/email/keys', body));
  return { params: { id: made.id }, narrowTo: body.domainIds[0]! };
};

const keyOf = async (kitchen: Kitchen) => ({ ...keyBody(), domainIds: [(await domain(kitchen)).params.id!] });

/** In the log, with nothing of it under way: nobody is sent anything here. */
const message: Maker = async (kitchen) => {
  const { id: domainId } = (await domain(kitchen)).params;
  const { id } = await kitchen.qd.app.db.write(async (tx) => {
    const made = `msg_${String(performance.now()).replace('.', '').padStart(26, '0').slice(0, 26)}`;
    await run(tx)`
      insert into email.message (org_id, id, direction, state, state_at, created_at, door, domain_id, sender, recipients, copies, message_id,
                                 body_key, body_offset, body_bytes, header_bytes, body_hash)
      values (${kitchen.at.orgId}, ${made}, 'send', 'delivered', kernel.now(), kernel.now(), 'http', ${domainId}, 'a@example.com', '{b@example.com}', '{}', '<1@example.com>',
              'mail/large/matrix', 0, 5, 0, '')`;
    return { id: made };
  });
  await kitchen.qd.app.storage.put('mail/large/matrix', Buffer.from('hello'));
  return { params: { id }, narrowTo: domainId! };
};

/** The same, waiting for its time. */
const scheduled: Maker = async (kitchen) => {
  const { params } = await message(kitchen);
  await kitchen.qd.app.db.write(
    (tx) => run(tx)`update email.message set state = 'queued', scheduled_at = kernel.now() + interval '1 hour' where id = ${params.id}`,
  );
  return { params };
};

const address = () => ({ address: `${unique('somebody').replace(' ', '-')}@example.com` });
const suppression: Maker = async ({ at }) => byId((await made201(at.post('/email/suppressions', address()))).id);

/** The domain from which an organization sends here: said to be verified, since nobody publishes records. */
const sender = ({ at }: Kitchen) => `${createHash('sha256').update(at.orgId).digest('hex').slice(0, 12)}.example.com`;
const sendKey = async (kitchen: Kitchen) => {
  await insertDomain(kitchen, sender(kitchen));
  return (await made201(kitchen.at.post('/email/keys', keyBody()))).secret;
};
/** Tomorrow: nothing is sent from here. */
const letter = (kitchen: Kitchen) => ({
  from: `a@${sender(kitchen)}`,
  to: ['b@example.com'],
  subject: 'hello',
  text: 'hello',
  headers: { 'X-Order': 'order-secret-4711' },
  scheduledAt: new Date(Date.now() + 86_400_000).toISOString(),
});

const webhookBody = () => ({ url: 'https://hooks.example.com/mail', eventTypes: ['email.bounced', 'suppression.created'] });
const webhook: Maker = async ({ at }) => byId((await made201(at.post('/email/webhooks', webhookBody()))).webhook.id);

/** One that failed: nobody is called here. */
const delivery: Maker = async (kitchen) => {
  const { id: endpoint } = (await webhook(kitchen)).params;
  const id = await kitchen.qd.app.db.write(async (tx) => {
    await run(tx)`
      with made as (insert into email.webhook_event (org_id, id, type, payload, created_at)
                    values (${kitchen.at.orgId}, kernel.new_id('evt'), 'email.bounced', '{}', kernel.now()) returning id)
      insert into email.delivery (org_id, endpoint_id, event_id, event_type, state, created_at, done_at)
      select ${kitchen.at.orgId}, ${endpoint}, id, 'email.bounced', 'failed', kernel.now(), kernel.now() from made`;
    const { rows } = await tx.query(sql`select max(id) as id from email.delivery where endpoint_id = ${endpoint}`);
    return (rows[0] as { id: number }).id;
  });
  return { params: { id: String(id) } };
};

/** Armed, and with nobody who would look for its MX. */
const armed = async (kitchen: Kitchen): Promise<string> => {
  const { id } = (await domain(kitchen)).params;
  await kitchen.qd.app.db.write((tx) => run(tx)`update email.domain set receive_state = 'pending' where id = ${id}`);
  return id!;
};
/** One for an organization, by hand: there may be fifty at most, and there are more callers than that. */
const endpoint = async ({ qd, at }: Kitchen): Promise<string> => {
  const id = `whk_${createHash('sha256').update(at.orgId).digest('hex').toUpperCase().slice(0, 26)}`;
  await qd.app.db.write(
    (tx) => run(tx)`
      insert into email.webhook (org_id, id, url, event_types, secret, created_at)
      values (${at.orgId}, ${id}, 'https://hooks.example.com/in', '{email.failed}', '', kernel.now()) on conflict do nothing`,
  );
  return id;
};
const routeBody = async (kitchen: Kitchen) => ({
  domainId: await armed(kitchen),
  pattern: `${unique('local').replace(' ', '-')}*`,
  endpointId: await endpoint(kitchen),
});
const route: Maker = async (kitchen) => {
  const body = await routeBody(kitchen);
  const { id } = await made201(kitchen.at.post('/email/routes', body));
  return { params: { id }, narrowTo: body.domainId };
};

export const email: Recipes = {
  listDomains: { lists: domain },
  createDomain: { body: domainBody },
  getDomain: { make: domain },
  deleteDomain: { make: domain },
  getDomainDns: { make: domain },
  checkDomain: { make: domain },
  armDomainReceiving: { make: domain },
  listRoutes: { lists: route },
  createRoute: {
    body: routeBody,
    cases: {
      "to another's endpoint": {
        body: async (kitchen) => ({
          ...(await routeBody(kitchen)),
          endpointId: await endpoint({ ...kitchen, at: kitchen.foreigner }),
        }),
      },
      "of another's domain": {
        body: async (kitchen) => ({ ...(await routeBody(kitchen)), domainId: await armed({ ...kitchen, at: kitchen.foreigner }) }),
      },
    },
  },
  matchRoute: { make: route, body: () => ({ address: 'support@nowhere.example' }) },
  deleteRoute: { make: route },
  listSendKeys: { lists: key, cases: { 'of a domain': { lists: domainKey } } },
  createSendKey: {
    body: keyBody,
    cases: {
      'for a domain': { body: keyOf },
      'for their domain': { make: domain, body: (_, thing) => ({ ...keyBody(), domainIds: [thing!.params.id!] }) },
      "for another's domain": { body: (kitchen) => keyOf({ ...kitchen, at: kitchen.foreigner }) },
    },
  },
  revokeSendKey: { make: key, cases: { 'of a domain': { make: domainKey } } },
  listMessages: { lists: message },
  getMessage: { make: message },
  getMessageContent: { make: message },
  getEmailSettings: {},
  getEmailStats: {},
  listSuppressions: { lists: suppression },
  createSuppression: { body: address },
  deleteSuppression: { make: suppression },
  sendEmail: { body: letter, key: sendKey },
  sendEmailBatch: { body: (kitchen) => ({ messages: [letter(kitchen)] }), key: sendKey },
  cancelMessage: { make: scheduled, key: sendKey },
  listWebhooks: { lists: webhook },
  createWebhook: { body: webhookBody },
  updateWebhook: { make: webhook, body: () => ({ eventTypes: ['email.failed'] }) },
  deleteWebhook: { make: webhook },
  rotateWebhookSecret: { make: webhook },
  listWebhookDeliveries: { lists: delivery },
  getWebhookDelivery: { make: delivery },
  redeliverWebhook: { make: delivery },
};
