import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { cutLink } from '../../../../../test/fakes/cut-link.ts';
import { freshDatabase } from '../../../../../test/harness/postgres.ts';
import { makePageCache } from '../../planes/public/page-cache.ts';
import { eventually, form, house, incident, page, publish, read, readAll, service, shows, takeDatabase } from '../support.ts';

// They mostly wait, each for a database of its own: so they wait together.
suite('a page outlives its database', { concurrency: true }, () => {
  test('while the database is away the last state is shown with its age, and what was never read is 503', async (t) => {
    const qd = await house(t);
    const web = await service(qd.owner, 'Web');
    await page(qd.owner, 'acme', [web.id]);
    await page(qd.owner, 'unread', [web.id]);
    const id = await incident(qd.owner, web.id, 'Slow');
    await publish(qd.owner, id, 'We are looking.');
    await shows(qd.url, 'acme', (text) => text.includes('We are looking.'));

    const giveBack = await takeDatabase(qd);
    const late = await eventually(async () => {
      const answer = await read(`${qd.url}/status/acme`);
      return answer.headers.get('warning') ? answer : undefined;
    });
    assert.equal(late.status, 200);
    assert.match(late.text, /<p class="stale" role="status"><strong>This page is less than a minute old\.<\/strong>/);
    assert.match(late.text, /We are looking\./);
    for (const [name, { status, headers }] of await readAll(qd.url, 'acme')) {
      assert.equal(status, 200, name);
      assert.match(headers.get('warning')!, /^110 /, name);
      assert.match(headers.get('age')!, /^\d+$/, name);
    }
    const began = performance.now();
    for (let n = 0; n < 50; n++) await read(`${qd.url}/status/acme`);
    assert.ok(performance.now() - began < 10_000, 'readers do not wait for what is away');

    for (const name of ['', '.json', '/feed.atom']) {
      const cold = await read(`${qd.url}/status/unread${name}`);
      assert.equal(cold.status, 503, name);
      assert.equal(cold.headers.get('retry-after'), '5');
      assert.match(cold.text, /cannot be read at the moment/);
    }
    assert.equal((await form(`${qd.url}/status/acme/subscribe`, { address: 'reader@example.com' })).status, 503);

    await giveBack();
    const fresh = await eventually(async () => {
      const answer = await read(`${qd.url}/status/acme`);
      return answer.headers.get('warning') ? undefined : answer;
    });
    assert.doesNotMatch(fresh.text, /class="stale"/);
    await eventually(async () => (await read(`${qd.url}/status/unread`)).status === 200);
    await publish(qd.owner, id, 'We are back.');
    await shows(qd.url, 'acme', (text) => text.includes('We are back.'));
  });

  test('a database that goes silent does not keep readers waiting', async (t) => {
    const { connection, drop } = await freshDatabase();
    t.after(drop);
    const link = await cutLink(t, { path: `${connection.host}/.s.PGSQL.${connection.port ?? 5432}` });
    const qd = await house(t, { connection: { ...connection, host: '127.0.0.1', port: link.port } });
    const web = await service(qd.owner, 'Web');
    await page(qd.owner, 'acme', [web.id]);
    await shows(qd.url, 'acme', (text) => text.includes('Web'));
    link.cut();
    let slowest = 0;
    await eventually(async () => {
      const began = performance.now();
      const answer = await read(`${qd.url}/status/acme`);
      slowest = Math.max(slowest, performance.now() - began);
      assert.equal(answer.status, 200);
      return answer.headers.get('warning') !== null;
    });
    assert.ok(slowest < 5_000, `a reader waited ${slowest} ms`);
    link.mend();
    await eventually(async () => (await read(`${qd.url}/status/acme`)).headers.get('warning') === null);
  });

  test('a process that has just started shows pages that no reader has requested', async (t) => {
    const qd = await house(t);
    const web = await service(qd.owner, 'Web');
    await page(qd.owner, 'acme', [web.id]);
    const pageCache = makePageCache(qd.app);
    await pageCache.warm();
    const giveBack = await takeDatabase(qd);
    const found = await eventually(async () => {
      const now = pageCache.peek('acme') ?? (await pageCache.find('acme'));
      return now.is === 'page' && now.ageMs !== undefined ? now : undefined;
    });
    assert.equal(found.renderings.board.title, 'Acme');
    assert.deepEqual(await pageCache.find('never-was'), { is: 'unavailable' });
    pageCache.stop();
    await giveBack();
  });

  test('what was retracted just before the database went is not what is shown late', async (t) => {
    const qd = await house(t);
    const web = await service(qd.owner, 'Web');
    await page(qd.owner, 'acme', [web.id]);
    const id = await incident(qd.owner, web.id, 'A mistake');
    const update = await publish(qd.owner, id, 'Not for the public.');
    const pageCache = makePageCache(qd.app);
    t.after(() => pageCache.stop());
    // No reader from here on: `peek` does not read. The process itself refreshes when it hears of a change.
    const open = () => {
      const known = pageCache.peek('acme');
      return known?.is === 'page' ? known.renderings.board.open.length : undefined;
    };
    await pageCache.find('acme');
    await eventually(async () => open() === 1);
    assert.equal((await qd.owner.delete(`/oncall/incidents/${id}/updates/${update}`)).status, 204);
    await eventually(async () => open() === 0);
    const giveBack = await takeDatabase(qd);
    const late = await eventually(async () => {
      const found = pageCache.peek('acme') ?? (await pageCache.find('acme'));
      return found.is === 'page' && found.ageMs !== undefined ? found : undefined;
    });
    assert.deepEqual(late.renderings.board.open, []);
    await giveBack();
  });
});
