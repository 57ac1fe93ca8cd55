import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { house, incident, made, page, publish, read, service, shows } from '../support.ts';

test('an incident on several history pages is shown as resolved only on the first', async (t) => {
  const { owner, app, url, clock } = await house(t);
  const web = await service(owner, 'Web');
  await page(owner, 'acme', [web.id]);
  const id = await incident(owner, web.id, 'Long');
  // 360 KB of words: three pieces.
  await app.db.write(
    (tx) => run(tx)`
      insert into oncall.public_update (org_id, incident_id, id, at, body, by_label)
      select org_id, id, kernel.new_id('upd'), kernel.now(), 'word ' || n || ' ' || repeat('x', 9000), 'x'
        from oncall.incident, generate_series(1, 40) n where id = ${id}`,
  );
  await clock.advance('1m');
  await made(owner.post(`/oncall/incidents/${id}/resolve`));
  await publish(owner, await incident(owner, web.id, 'Another'), 'We are looking.');
  await shows(url, 'acme', (text) => text.includes('We are looking.'));

  const first = await shows(url, 'acme', (text) => text.includes('All 40 updates'), '/history');
  const ends: number[] = [];
  const words = new Set<string>();
  let at = new URL(/<a href="(history\/[^"]+)">All 40 updates/.exec(first.text)![1]!, `${url}/status/acme/history`).href;
  for (let piece = 0; piece < 10; piece++) {
    const { status, text } = await read(at);
    assert.equal(status, 200);
    ends.push(text.match(/<b>Resolved<\/b>/g)?.length ?? 0);
    for (const word of text.match(/word \d+/g) ?? []) words.add(word);
    const next = /<a href="([^"]+)">Older incidents</.exec(text)?.[1];
    if (!next) break;
    at = new URL(next, at).href;
  }
  assert.equal(words.size, 40);
  assert.ok(ends.length >= 3, `${ends.length} pieces`);
  assert.deepEqual(ends, [1, ...ends.slice(1).map(() => 0)]);
});
