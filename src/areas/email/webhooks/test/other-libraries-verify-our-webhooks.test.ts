import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Resend } from 'resend';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { letter, mailScene } from '../../test/mail-scene.ts';
import { endpointAt, listening, type ReceivedRequest } from './listening.ts';

test('other libraries verify our webhooks, and refuse what was changed on its way', async (t) => {
  const { qd, key } = await mailScene(t);
  const endpoint = await listening(t);
  const { secret } = await endpointAt(qd.owner, endpoint.url, 'email.bounced', 'email.complained');
  for (const name of ['bounced', 'complained']) await key.post('/email/send', letter({ to: [`${name}@simulator.invalid`] }));
  const told = await endpoint.heard(2);

  const resend = new Resend('re_none');
  const headersOf = ({ id, timestamp, signature }: ReceivedRequest) => ({
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature,
  });
  const verifiers: Record<string, (one: ReceivedRequest, body: string) => unknown> = {
    standardwebhooks: (one, body) => new StandardWebhook(secret).verify(body, headersOf(one)),
    // It throws or says nothing.
    svix: (one, body) => new SvixWebhook(secret).verify(body, headersOf(one)) ?? JSON.parse(body),
    resend: (one, body) =>
      resend.webhooks.verify({
        payload: body,
        headers: { id: one.id, timestamp: one.timestamp, signature: one.signature },
        webhookSecret: secret,
      }),
  };
  for (const [name, verify] of Object.entries(verifiers))
    for (const one of told) {
      // The clock of the test is the machine's own: these libraries refuse what is older than five minutes.
      assert.deepEqual(verify(one, one.body), one.event, name);
      assert.throws(() => verify(one, one.body.replace('simulator', 'elsewhere')), name);
    }
});
