import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mintKey } from '../../../../identity/token-format.ts';
import { run } from '../../../../kernel/db/index.ts';
import { eventually, house, incident, made, page, publish, retract, service } from '../support.ts';

test('mails about an update are counted by how they ended, in the story of its incident', async (t) => {
  const qd = await house(t);
  const { owner, smtp } = qd;
  const { id: serviceId } = await service(owner, 'Web');
  const { slug } = await page(owner, 'acme', [serviceId]);
  for (const n of [1, 2])
    await qd.app.db.write(
      (tx) => run(tx)`
        insert into status.subscriber (org_id, page_id, id, address, state, token, token_hash, asked_at, confirmed_at, created_at)
        select org_id, id, 'sub_' || ${n}::int, 'reader' || ${n}::int || '@example.com', 'active', ${qd.app.secrets.seal('secret', `status.subscriber.token.sub_${n}`)},
               ${mintKey('pat').hash}, kernel.now(), kernel.now(), kernel.now() - interval '1 minute'
          from status.page where slug = ${slug}`,
    );
  const id = await incident(owner, serviceId, 'down');
  /** What the story says of the mails about the last update, once it says this. */
  const told = (says: RegExp) =>
    eventually(async () => {
      const { entries } = await made(owner.get(`/oncall/incidents/${id}/story`));
      const { title, detail = '' } = entries.findLast(({ kind }: { kind: string }) => kind === 'mails') ?? {};
      return says.test(`${title}: ${detail}`) ? `${title}: ${detail}` : undefined;
    });

  await publish(owner, id, 'We are looking.');
  assert.match(await told(/^2 mails/), /^2 mails to subscribers left about the update: (the last one after \d+ s)?$/);

  smtp.behave({ RCPT: '550 5.1.1 no such user' });
  await publish(owner, id, 'We found it.');
  assert.equal(await told(/2 failed/), '0 mails to subscribers left about the update: 2 failed');

  smtp.behave({ MAIL: '451 4.3.0 try later' });
  const wrong = await publish(owner, id, 'It was somebody else.');
  assert.equal(await told(/2 waiting/), '0 mails to subscribers left about the update: 2 waiting');
  await retract(owner, id, wrong);
  await qd.clock.advance('1h');
  assert.equal(await told(/2 not needed/), '0 mails to subscribers left about the update: 2 not needed any more');
});
