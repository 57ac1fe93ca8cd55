import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../harness/index.ts';

test('an operation without a body takes {} as none, and nothing else', async (t) => {
  const { owner, url } = await quarterdeck(t);
  const service = (await owner.post('/uptime/services', { name: 'shop' })).body.id;
  const { id } = (await owner.post('/oncall/incidents', { serviceId: service, title: 'down' })).body;
  const ask = (path: string, body: string | undefined, type = 'application/json', method = 'POST') =>
    fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${owner.key}`, ...(body === undefined ? {} : { 'content-type': type }) },
      ...(body === undefined ? {} : { body }),
    });
  for (const body of ['[]', 'null', '{"a":1}', '{', '{}{}', 'x']) {
    const answer = await ask(`/oncall/incidents/${id}/ack`, body);
    assert.equal(answer.status, 400, body);
    assert.deepEqual(await answer.json(), { error: 'this operation takes no body; send it without one, or with {}' });
  }
  for (const body of [undefined, '', '{}', ' { \r\n } '])
    assert.equal((await ask(`/oncall/incidents/${id}/ack`, body)).status, 200, String(body));
  assert.equal((await ask(`/oncall/incidents/${id}/ack`, '', 'text/plain')).status, 200);
  assert.equal((await ask(`/oncall/incidents/${id}/resolve`, '{}')).status, 200);
  assert.equal((await ask(`/uptime/services/${service}`, '{}', 'application/json', 'DELETE')).status, 204);
});
