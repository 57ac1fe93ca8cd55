import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { run } from '../../../../kernel/db/index.ts';
import { formatCursor, type HistoryCursor, nextCursor, parseCursor } from '../../rules/history-cursor.ts';
import { type House, house, incident, made, page, publish, read, readAll, service, shows } from '../support.ts';

/** Resolved incidents with so many updates of so many bytes each, opened one a minute; every third in the same millisecond as the last. */
const fill = ({ app }: House, serviceId: string, incidents: number, updates: number, bytes: number) =>
  app.db.write(
    (tx) => run(tx)`
      with made as (
        insert into oncall.incident (org_id, id, service_id, service_name, title, origin, status, opened_at, resolved_at, walk_state)
        select s.org_id, kernel.new_id('inc'), s.id, s.name, 'incident ' || n, 'manual', 'resolved',
               c.now - make_interval(mins => n - case n % 3 when 0 then 1 else 0 end), c.now, 'resolved'
          from services.service s, generate_series(1, ${incidents}::int) n, (select kernel.now() as now offset 0) c where s.id = ${serviceId}
        returning org_id, id, title)
      insert into oncall.public_update (org_id, incident_id, id, at, body, by_label)
      select org_id, id, kernel.new_id('upd'), kernel.now(), title || ' word ' || u || ' ' || repeat('&', ${bytes}::int), 'x'
        from made, generate_series(1, ${updates}::int) u order by u`,
  );

/** Every piece from the first on, as readers follow the links. */
async function pieces(url: string, slug: string) {
  const found: string[] = [];
  let at = `${url}/status/${slug}/history`;
  for (let n = 0; n < 200; n++) {
    const { status, text } = await read(at);
    assert.equal(status, 200);
    found.push(text);
    const next = /<a href="([^"]+)">Older incidents</.exec(text)?.[1];
    if (!next) return found;
    at = new URL(next, at).href;
  }
  throw new Error('the history does not end');
}

test('every output stays small, and history pages show the rest', async (t) => {
  const qd = await house(t);
  const web = await service(qd.owner, 'Web');
  await page(qd.owner, 'acme', [web.id]);
  await fill(qd, web.id, 60, 10, 4_000);
  await publish(qd.owner, await incident(qd.owner, web.id, 'now'), 'We are looking.');
  await shows(qd.url, 'acme', (text) => text.includes('We are looking.'));

  // 2.4 MB of words, each of which takes five bytes in HTML and nine in a feed.
  for (const [name, { text }] of await readAll(qd.url, 'acme')) assert.ok(text.length < 1_500_000, `${name}: ${text.length} bytes`);
  const json = JSON.parse((await read(`${qd.url}/status/acme.json`)).text);
  assert.equal(json.incidents.length, 50);
  assert.deepEqual(
    json.incidents.slice(0, 2).map((i: { updateCount: number }) => i.updateCount),
    [1, 10],
  );

  const all = await pieces(qd.url, 'acme');
  for (const text of all) assert.ok(text.length < 1_200_000, `${text.length} bytes`);
  const told = new Set(all.join('').match(/incident \d+ word \d+/g));
  const first = /<a href="(history\/[^"]+)">All 10 updates/.exec(all[0]!)![1]!;
  for (let at: string | undefined = `${qd.url}/status/acme/${first}`; at; ) {
    const { text } = await read(at);
    for (const words of text.match(/incident \d+ word \d+/g) ?? []) told.add(words);
    const next: string | undefined = /<a href="([^"]+)">Older incidents</.exec(text)?.[1];
    at = next && new URL(next, at).href;
  }
  assert.equal(told.size, 60 * 10, 'every word is somewhere');
});

test('an invalid cursor is not found, and too many requests are refused', async (t) => {
  const qd = await house(t);
  const web = await service(qd.owner, 'Web');
  await page(qd.owner, 'acme', [web.id]);
  await fill(qd, web.id, 3, 1, 10);
  const ask = (place: string) => read(`${qd.url}/status/acme/history/${place}`);
  for (const wrong of ['', 'x', '1-2', '1-2-3-4', '-1-0-0', '99999999999999999-0-0']) assert.equal((await ask(wrong)).status, 404, wrong);
  assert.equal((await read(`${qd.url}/status/nobody/history/1-0-0`)).status, 404);
  assert.match((await ask('1-0-0')).text, /No incidents to tell of/);
  let refused: Awaited<ReturnType<typeof ask>> | undefined;
  for (let n = 2; n < 100 && !refused; n++) {
    const answer = await ask(`${n}-0-0`);
    if (answer.status === 429) refused = answer;
  }
  assert.ok(refused?.headers.get('retry-after'));
  assert.equal((await ask('1-0-0')).status, 200, 'what is known is shown all the same');
});

test('an incident has a hundred updates at most', async (t) => {
  const qd = await house(t);
  const web = await service(qd.owner, 'Web');
  const id = await incident(qd.owner, web.id, 'Slow');
  await publish(qd.owner, id, 'the first word');
  await qd.app.db.write(
    (tx) => run(tx)`
      insert into oncall.public_update (org_id, incident_id, id, at, body, by_label)
      select org_id, incident_id, kernel.new_id('upd'), at, 'word ' || n, by_label from oncall.public_update, generate_series(3, 100) n
       where incident_id = ${id}`,
  );
  await publish(qd.owner, id, 'the hundredth word');
  const refused = await qd.owner.post(`/oncall/incidents/${id}/updates`, { body: 'one more' });
  assert.equal(refused.status, 409);
  assert.match(refused.body.error, /has 100 updates, which is the most; retract one/);
  await made(qd.owner.delete(`/oncall/incidents/${id}/updates/${(await made(qd.owner.get(`/oncall/incidents/${id}`))).updates[0].id}`));
  await publish(qd.owner, id, 'one more');
});

test('cursors visit every incident and update once, however they fall on pages', () => {
  const incidents = fc.array(fc.record({ same: fc.boolean(), updateCount: fc.integer({ min: 1, max: 7 }) }), {
    minLength: 1,
    maxLength: 12,
  });
  fc.assert(
    fc.property(incidents, fc.integer({ min: 1, max: 5 }), (given, most) => {
      let ms = 1_000_000;
      const list = given.map(({ same, updateCount }, id) => {
        if (!same) ms -= 1_000;
        return { id, openedAt: new Date(ms).toISOString(), updateCount };
      });
      const told: string[] = [];
      let place: HistoryCursor | undefined = { openedAt: new Date(2_000_000).toISOString(), incidents: 0, updates: 0 };
      while (place) {
        const from: HistoryCursor = place;
        const open = list.filter((i) => i.openedAt <= from.openedAt).slice(from.incidents);
        const left = open.flatMap((i, n) => Array.from({ length: i.updateCount }, (_, u) => ({ i, u })).slice(n === 0 ? from.updates : 0));
        const shown = left.slice(0, most);
        told.push(...shown.map(({ i, u }) => `${i.id} ${u}`));
        const pieces = [...Map.groupBy(shown, (s) => s.i).entries()].map(([i, updates]) => ({ ...i, updates }));
        place = shown.length < left.length ? parseCursor(formatCursor(nextCursor(from, pieces))) : undefined;
      }
      assert.deepEqual(
        told,
        list.flatMap((i) => Array.from({ length: i.updateCount }, (_, u) => `${i.id} ${u}`)),
      );
    }),
  );
});
