import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../../../../kernel/sql.ts';
import { letter, mailScene, untilState } from '../../../test/mail-scene.ts';
import { deliveriesOf, endpointAt, listening } from '../../../webhooks/test/listening.ts';
import { hardBounce } from '../feedback/mails.ts';
import { report } from '../feedback/reported.ts';

test('concurrent reports are all counted, and pause the organization once', async (t) => {
  const { qd, key } = await mailScene(t);
  const endpoint = await listening(t);
  await endpointAt(qd.owner, endpoint.url, 'sending.paused');
  const addresses = Array.from({ length: 16 }, (_, n) => `gone-${n}@far.example`);
  const { id } = (await key.post('/email/send', letter({ to: addresses.slice(0, 8) }))).body as { id: string };
  const other = ((await key.post('/email/send', letter({ to: addresses.slice(8) }))).body as { id: string }).id;
  for (const message of [id, other]) await untilState(qd, message, 'delivered');
  await qd.app.db.write((tx) => tx.query(sql`update email.sending_hour set recipients = 200`));

  const followed: string[] = [];
  // As many at once as an organization has connections; every other one is of the other message.
  for (let from = 0; from < 8; from += 2) {
    const some = addresses.flatMap((address, n) =>
      n % 8 === from || n % 8 === from + 1 ? [{ address, message: n < 8 ? id : other }] : [],
    );
    followed.push(...(await Promise.all(some.map(({ address, message }) => report(qd, message, address, hardBounce(address))))));
  }
  assert.deepEqual(new Set(followed), new Set(['bounced']));
  const { rows } = await qd.app.db.read((tx) =>
    tx.query(sql`select sum(recipients)::int as recipients, sum(hard)::int as hard from email.sending_hour`),
  );
  assert.deepEqual(rows, [{ recipients: 200, hard: 16 }]);
  await endpoint.heard(1);
  assert.deepEqual(
    (await deliveriesOf(qd.owner)).map(({ eventType }) => eventType),
    ['sending.paused'],
  );
  assert.match(endpoint.told[0]!.event.data.reason, /^10 of 200 recipients bounced hard/);
});
