import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import Type from 'typebox';
import { row } from '../../../../kernel/db/index.ts';
import { limitPages, maxPerMinuteOfIncident, maxPerMinuteOfPerson, minuteMs } from '../../rules/page-limits.ts';
import { covered, detail, eventually, made, mails, overdue, user, type Ward, ward } from '../support.ts';

const tenMails = Array.from({ length: 10 }, () => ({ channel: 'email', delaySeconds: 0 }));
const open = (qd: Ward, serviceId: string) => made(qd.owner.post('/oncall/incidents', { serviceId, title: 'down' }));
const calm = (qd: Ward) => eventually(async () => (await overdue(qd)) === 0);
const pages = async (qd: Ward) =>
  (await qd.app.db.read((tx) => row(tx, Type.Object({ n: Type.Integer() }))`select count(*)::int as n from oncall.page`))!.n;

test('two hundred pages of one incident are ten, one line tells of the others, and the next page says how many', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  await made(owner.put('/oncall/me/settings', { rules: tenMails }));
  const steps = Array.from({ length: 20 }, (_, i): [ReturnType<typeof user>, number] => [user(owner, 'Ada'), i === 19 ? 3600 : 0]);
  const { service } = await covered(owner, { steps, repeat: 1 });
  const { id } = await open(qd, service.id);
  await calm(qd);
  assert.equal(await pages(qd), 10);
  const found = await detail(owner, id);
  const held = found.timeline.filter((e: { kind: string }) => e.kind === 'page_held_back');
  assert.equal(held.length, 1, 'gathered');
  assert.match(held[0].message, /^190 pages to Ada are held back: nobody gets more than 10 pages a minute about one incident/);

  await qd.clock.advance('3601s');
  await calm(qd);
  const received = await mails(smtp, owner.email, 20);
  assert.equal(received.length, 20);
  assert.equal(received.filter((m) => /190 further pages about this incident were held back/.test(m.data)).length, 1);
});

test('a person paged for very many incidents at once still gets the first page of each', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  await made(owner.put('/oncall/me/settings', { rules: tenMails.slice(0, 2) }));
  const { service } = await covered(owner, { steps: [[user(owner), 3600]] });
  const ids: string[] = [];
  for (let i = 0; i < 20; i++) {
    ids.push((await open(qd, service.id)).id);
    await calm(qd);
  }
  assert.equal(await pages(qd), maxPerMinuteOfPerson + 5, 'two for each of the first fifteen, then one');
  const last = await detail(owner, ids.at(-1)!);
  assert.equal(last.pages.length, 1);
  assert.match(last.timeline.find((e: { kind: string }) => e.kind === 'page_held_back').message, /^1 page to .* nobody gets more than 30/);
});

test('whatever the rules, no minute holds more than the limits, and the first page is made', () => {
  const rules = fc.array(fc.record({ delaySeconds: fc.integer({ min: 0, max: 200 }) }), { minLength: 1, maxLength: 10 });
  const near = fc.record({ ofIncident: fc.nat(maxPerMinuteOfIncident), ofPerson: fc.nat(maxPerMinuteOfPerson) });
  fc.assert(
    fc.property(rules, fc.array(near, { minLength: 10, maxLength: 10 }), fc.boolean(), (wanted, seen, isFirst) => {
      const { made: kept, held } = limitPages(wanted, seen, isFirst);
      assert.equal(kept.length + [...held.values()].reduce((a, b) => a + b, 0), wanted.length, 'each is made or told of');
      const earliest = Math.min(...wanted.map((w) => w.delaySeconds));
      if (isFirst) assert.ok(kept.some((k) => k.delaySeconds === earliest));
      for (const a of kept)
        assert.ok(kept.filter((b) => Math.abs(a.delaySeconds - b.delaySeconds) * 1000 < minuteMs).length <= maxPerMinuteOfIncident);
      if (!isFirst) for (const k of kept) assert.ok(seen[wanted.indexOf(k)]!.ofPerson < maxPerMinuteOfPerson);
    }),
  );
});
