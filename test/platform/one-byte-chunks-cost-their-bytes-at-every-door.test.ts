// alone: it measures what the process holds in memory
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open, type PhoneWard, phoneWard } from '../../src/areas/oncall/test/phone-support.ts';
import { alert, group, made, source } from '../../src/areas/oncall/test/support.ts';
import { basic } from '../../src/areas/registry/test/credentials.ts';
import { page } from '../../src/areas/status/test/support.ts';
import { agent } from '../../src/areas/uptime/test/support.ts';
import { paths } from '../../src/protocols/agent.ts';
import { assertCostsItsBytes, flood, type Sent } from '../harness/one-byte-chunks.ts';

type Door = (qd: PhoneWard) => Promise<{ requests: Sent[]; status: number }>;

const json = { 'content-type': 'application/json' };
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const bodyBytes = 10_000;
/** JSON may end with blanks. */
const padded = (value: unknown) => JSON.stringify(value).padEnd(bodyBytes);
const four = <T>(make: (n: number) => T): T[] => [1, 2, 3, 4].map(make);

const doors: Record<string, Door> = {
  'POST /token': async () => ({
    status: 401,
    requests: four(() => ({
      method: 'POST',
      path: '/token',
      headers: form,
      body: new URLSearchParams({ grant_type: 'refresh_token', service: 'x', refresh_token: 'x'.repeat(bodyBytes) }).toString(),
    })),
  }),

  'an operation’s JSON': async ({ owner }) => ({
    status: 201,
    requests: four((n) => ({
      method: 'POST',
      path: '/api/v1/oncall/services',
      headers: { ...json, authorization: `Bearer ${owner.key}` },
      body: padded({ name: `flooded ${n}` }),
    })),
  }),

  'a delivery of alerts': async ({ owner, url, service }) => {
    const { id, token } = await source(owner, url, service.id);
    return {
      status: 200,
      requests: four((n) => ({
        method: 'POST',
        path: `/api/v1/oncall/alert-sources/${id}/alerts`,
        headers: { ...json, authorization: `Bearer ${token}` },
        body: padded(group([alert(`flooded ${n}`)])),
      })),
    };
  },

  'a callback of the provider': async (qd) => {
    await open(qd);
    const call = await qd.twilio.received({ to: qd.alice.phone, kind: 'call' });
    const action = /action="([^"]*)"/.exec(call.twiml!)![1]!;
    const fields = { Digits: '1', Padding: 'x'.repeat(bodyBytes) };
    return {
      status: 200,
      requests: four(() => ({
        method: 'POST',
        path: new URL(action).pathname,
        headers: { ...form, 'x-twilio-signature': qd.twilio.sign(action, fields) },
        body: new URLSearchParams(fields).toString(),
      })),
    };
  },

  'a manifest': async ({ owner }) => {
    const authorization = await pushing(owner);
    const mediaType = 'application/vnd.oci.image.index.v1+json';
    return {
      status: 201,
      requests: four((n) => ({
        method: 'PUT',
        path: `/v2/acme/app/manifests/v${n}`,
        headers: { authorization, 'content-type': mediaType },
        body: padded({ schemaVersion: 2, mediaType, manifests: [] }),
      })),
    };
  },

  'a chunk of an upload': async ({ owner, url }) => {
    const authorization = await pushing(owner);
    const uploads = await Promise.all(
      four(async () => {
        const begun = await fetch(`${url}/v2/acme/app/blobs/uploads/`, { method: 'POST', headers: { authorization } });
        return new URL(begun.headers.get('location')!, url).pathname;
      }),
    );
    return {
      status: 202,
      requests: uploads.map((path) => ({ method: 'PATCH', path, headers: { authorization }, body: 'x'.repeat(bodyBytes) })),
    };
  },

  'an agent’s results': async (qd) => {
    const agents = await Promise.all(four((n) => agent(qd, `vantage-${n}`)));
    return {
      status: 200,
      requests: agents.map(({ token, instance }) => ({
        method: 'POST',
        path: paths.results,
        headers: { ...json, authorization: `Bearer ${token}` },
        body: padded({ instance, seq: 1, now: 0, degraded: false, results: [] }),
      })),
    };
  },

  'a form of a status page': async ({ owner, service }) => {
    await page(owner, 'acme', [service.id]);
    // Small bodies, and ten wishes a minute: both are all that is allowed.
    return {
      status: 200,
      requests: Array.from({ length: 10 }, (_, n) => ({
        method: 'POST',
        path: '/status/acme/subscribe',
        headers: form,
        body: new URLSearchParams({ address: `reader-${n}@example.com`, padding: 'x'.repeat(4_000) }).toString(),
      })),
    };
  },
};

async function pushing(owner: PhoneWard['owner']): Promise<string> {
  await owner.post('/registry/registries', { slug: 'acme' });
  const { username, password } = await made(owner.post('/registry/login-credentials', {}));
  return basic(username, password);
}

test('one-byte chunks cost their bytes at every door, and are taken', async (t) => {
  const qd = await phoneWard(t, [{ channel: 'voice', delaySeconds: 0 }]);
  for (const [name, door] of Object.entries(doors))
    await t.test(name, async () => {
      const { requests, status } = await door(qd);
      const { kept, bytes, answers } = await flood(qd.url, requests);
      for (const answer of answers) assert.equal(answer.status, status, answer.text);
      assertCostsItsBytes(kept, bytes);
    });
});
