import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shared } from '../../../oncall/test/support.ts';
import { desk, httpMonitor, made, monitor, tcpMonitor } from '../agent-context.ts';
import { agent } from '../support.ts';

/** With one agent: several would share what is to be checked. */
const oneDesk = shared(async (t) => {
  const qd = await desk(t);
  return { ...qd, fra: await agent(qd, 'fra') };
});

const base64 = (text: string) => Buffer.from(text).toString('base64');

test('what a writer was shown can be sent back with changes, and the values stay', async () => {
  const { owner, fra } = await oneDesk();
  const target = async ({ id }: { id: string }) => (await fra.assignments()).body.assignments.find((a) => a.id === id)!.target;
  const epoch = async ({ id }: { id: string }) => (await fra.assignments()).body.assignments.find((a) => a.id === id)!.epoch;

  const front = await monitor(owner, {
    vantages: ['fra'],
    http: {
      url: 'https://shop.example/health?token=one&token=two&three&empty=',
      method: 'POST',
      headers: { Authorization: 'Bearer four', 'X-Key': 'five' },
      bodyBase64: base64('six'),
    },
  });
  const path = `/uptime/monitors/${front.id}`;
  const before = await target(front);
  await made(owner.patch(path, { http: front.http }));
  assert.deepEqual([await target(front), await epoch(front)], [before, 1], 'sent back as it was shown, nothing changes');

  const changed = await made(
    owner.patch(path, {
      http: {
        ...front.http,
        url: 'https://shop.example/v2?token=***&page=7&token=***&***',
        headers: { 'x-key': '***', 'X-New': 'eight' },
        expectStatus: ['204'],
      },
    }),
  );
  assert.deepEqual(await target(front), {
    url: 'https://shop.example/v2?token=one&page=7&token=two&three',
    method: 'POST',
    headers: { 'x-key': 'five', 'X-New': 'eight' },
    bodyBase64: base64('six'),
    followRedirects: true,
    expectStatus: ['204'],
  });
  assert.deepEqual(changed.http.headers, { 'x-key': '***', 'X-New': '***' });
  await made(owner.patch(path, { name: 'renamed', intervalSeconds: 30 }));
  assert.equal(((await target(front)) as { bodyBase64: string }).bodyBase64, base64('six'));

  const base = await made(
    owner.post('/uptime/monitors', tcpMonitor({ vantages: ['fra'], tcp: { host: 'db.example', port: 1, sendBase64: base64('AUTH x') } })),
  );
  await made(owner.patch(`/uptime/monitors/${base.id}`, { name: 'renamed', tcp: base.tcp }));
  assert.deepEqual(await target(base), { host: 'db.example', port: 1, tls: false, sendBase64: base64('AUTH x') });
});

test('a URL that is longer with its masks than with its values can be sent back', async () => {
  const { owner, fra } = await oneDesk();
  for (const part of ['a=1', 'a']) {
    const url = `https://shop.example/?${Array(Math.floor(1_900 / (part.length + 1)))
      .fill(part)
      .join('&')}`;
    const made1 = await monitor(owner, { vantages: ['fra'], http: { url } });
    assert.ok(made1.http.url.length > 2_048);
    const path = `/uptime/monitors/${made1.id}`;
    await made(owner.patch(path, { http: { ...made1.http, expectStatus: ['204'] } }));
    const { target } = (await fra.assignments()).body.assignments.find((a) => a.id === made1.id)!;
    assert.equal((target as { url: string }).url, url);
    const refused = await owner.patch(path, { http: { url: `${made1.http.url}&more=${'m'.repeat(200)}` } });
    assert.deepEqual([refused.status, refused.body.error], [400, 'http.url must have at most 2048 characters']);
  }
  const long = await owner.post('/uptime/monitors', httpMonitor({ http: { url: `https://shop.example/${'p'.repeat(2_100)}` } }));
  assert.deepEqual([long.status, long.body.error], [400, 'http.url must have at most 2048 characters']);
});

test('no complaint tells how long a stored value is', async () => {
  const { owner } = await oneDesk();
  const { id } = await monitor(owner, { http: { url: 'https://shop.example/', headers: { 'X-Key': 'k'.repeat(4_000) } } });
  const headers = { 'X-Key': '***', 'X-A': 'a'.repeat(4_000), 'X-B': 'b'.repeat(300) };
  const refused = await owner.patch(`/uptime/monitors/${id}`, { http: { url: 'https://shop.example/', headers } });
  assert.deepEqual([refused.status, refused.body.error], [400, 'http.headers is too long; send at most 8192 bytes in all']);
});

test('stored values are not compared with what somebody expects to find in them', async () => {
  const { owner } = await oneDesk();
  const again =
    'is not the one that is stored, and a check would tell whether it is in the values behind ***; send the values again, or leave it as it is';
  const url = 'https://shop.example/echo';
  const hidden: Record<string, unknown>[] = [
    { url, headers: { 'X-Key': 's3cret' } },
    { url: `${url}?token=s3cret` },
    { url, method: 'POST', bodyBase64: base64('s3cret') },
  ];
  for (const http of hidden) {
    for (const stored of [{}, { expectBodyContains: 'ok' }]) {
      const shown = await monitor(owner, { http: { ...http, ...stored } });
      const path = `/uptime/monitors/${shown.id}`;
      const refused = await owner.patch(path, { http: { ...shown.http, expectBodyContains: 's3c' } });
      assert.deepEqual([refused.status, refused.body.error], [400, `http.expectBodyContains ${again}`]);
      await made(owner.patch(path, { http: { ...shown.http, expectStatus: ['2xx', '404'], followRedirects: false } }));
      const { expectBodyContains: _, ...without } = shown.http;
      await made(owner.patch(path, { http: without }));
      await made(owner.patch(path, { http: { ...http, expectBodyContains: 's3c' } }));
    }
  }
  const tcp = { host: 'db.example', port: 1, sendBase64: base64('s3cret') };
  for (const stored of [{}, { expectPrefixBase64: base64('+OK') }]) {
    const shown = await made(owner.post('/uptime/monitors', tcpMonitor({ tcp: { ...tcp, ...stored } })));
    const path = `/uptime/monitors/${shown.id}`;
    const refused = await owner.patch(path, { tcp: { ...shown.tcp, expectPrefixBase64: base64('s3c') } });
    assert.deepEqual([refused.status, refused.body.error], [400, `tcp.expectPrefixBase64 ${again}`]);
    await made(owner.patch(path, { tcp: shown.tcp }));
    await made(owner.patch(path, { tcp: { host: tcp.host, port: tcp.port, sendBase64: base64('***') } }));
    await made(owner.patch(path, { tcp: { ...tcp, expectPrefixBase64: base64('s3c') } }));
  }
});

test('a mask without a stored value is refused', async () => {
  const { owner } = await oneDesk();
  const { id } = await monitor(owner, { http: { url: 'https://shop.example/?token=one', headers: { 'X-Key': 'two' } } });
  const { id: base } = await made(owner.post('/uptime/monitors', tcpMonitor()));
  const stands = 'is ***, which stands for a value that is stored, and none is; send the value';
  const table: [Record<string, unknown>, string][] = [
    [{ url: 'https://shop.example/', headers: { 'X-Other': '***' } }, `http.headers.X-Other ${stands}`],
    [{ url: 'https://shop.example/?key=***' }, `http.url’s key ${stands}`],
    [{ url: 'https://shop.example/?token=***&token=***' }, `http.url’s token ${stands}`],
    [{ url: 'https://shop.example/?***' }, `http.url’s query ${stands}`],
    [{ url: 'https://shop.example/', method: 'POST', bodyBase64: base64('***') }, `http.bodyBase64 ${stands}`],
  ];
  for (const [http, sentence] of table) {
    for (const answer of [
      await owner.patch(`/uptime/monitors/${id}`, { http }),
      await owner.post('/uptime/monitors', httpMonitor({ http })),
    ]) {
      assert.equal(answer.status, 400, sentence);
      assert.equal(answer.body.error, sentence);
    }
  }
  const sendBase64 = base64('***');
  const refused = await owner.patch(`/uptime/monitors/${base}`, { tcp: { host: 'db.shop.example', port: 5432, sendBase64 } });
  assert.deepEqual([refused.status, refused.body.error], [400, `tcp.sendBase64 ${stands}`]);
});

test('stored values follow to no other server', async () => {
  const { owner } = await oneDesk();
  const again = 'names another server, to which the values behind *** were not meant to go; send the values again';
  const kept: Record<string, unknown>[] = [
    { headers: { 'X-Key': '***' } },
    { method: 'POST', bodyBase64: base64('***') },
    { query: '?token=***' },
    { query: '?***' },
  ];
  const { id } = await monitor(owner, {
    http: { url: 'https://shop.example/?token=one&two', method: 'POST', headers: { 'X-Key': 'three' }, bodyBase64: base64('four') },
  });
  for (const origin of ['https://evil.example', 'http://shop.example', 'https://shop.example:8443', 'https://shop.example.evil.example']) {
    for (const { query = '', ...more } of kept) {
      const refused = await owner.patch(`/uptime/monitors/${id}`, { http: { url: `${origin}/${query}`, ...more } });
      assert.deepEqual([refused.status, refused.body.error], [400, `http.url ${again}`], `${origin} ${JSON.stringify(more)}`);
    }
  }
  assert.equal(
    (await owner.patch(`/uptime/monitors/${id}`, { http: { url: 'https://SHOP.example:443/v2', headers: { 'X-Key': '***' } } })).status,
    200,
  );
  const moved = { url: 'https://other.example/?token=new', headers: { 'X-Key': 'new' } };
  assert.equal((await owner.patch(`/uptime/monitors/${id}`, { http: moved })).status, 200);

  const tcp = { host: 'db.shop.example', port: 5432, tls: true };
  const { id: base } = await made(owner.post('/uptime/monitors', tcpMonitor({ tcp: { ...tcp, sendBase64: base64('AUTH x') } })));
  const sendBase64 = base64('***');
  for (const other of [{ host: 'evil.example' }, { port: 5433 }, { tls: false }]) {
    const refused = await owner.patch(`/uptime/monitors/${base}`, { tcp: { ...tcp, ...other, sendBase64 } });
    assert.deepEqual([refused.status, refused.body.error], [400, `tcp ${again}`], JSON.stringify(other));
  }
});
