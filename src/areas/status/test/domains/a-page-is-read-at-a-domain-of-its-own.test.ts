import assert from 'node:assert/strict';
import https from 'node:https';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { acmeScene, becomes, isIssued, presentedBy, presentsIssued, publicHost, wasHost } from '../../../certificates/test/support.ts';
import { eventually, incident, page, publish, service } from '../support.ts';

const domain = 'status.acme.example';

interface Read {
  status: number;
  text: string;
}

const readAt = (port: number, host: string, path: string, options: https.RequestOptions = {}) =>
  new Promise<Read>((resolve, reject) => {
    https
      .request(
        {
          host: '127.0.0.1',
          port,
          path,
          servername: host,
          agent: false,
          rejectUnauthorized: false,
          ...options,
          headers: { host, ...options.headers },
        },
        (response) => {
          let text = '';
          response
            .setEncoding('utf8')
            .on('data', (part) => (text += part))
            .on('end', () => resolve({ status: response.statusCode!, text }));
        },
      )
      .on('error', reject)
      .end(options.method === 'POST' ? 'address=reader%40example.com' : undefined);
  });

test('a page is read at a domain of its own, with a certificate, once the DNS leads it here', async (t) => {
  const { authority, dns, env, ports } = await acmeScene(t, { QUARTERDECK_SMTP_RELAY: 'smtp://127.0.0.1:9' });
  const { owner, app, clock } = await quarterdeck(t, { env });
  await becomes(app, publicHost, isIssued);
  const { id } = await service(owner, 'shop');
  const made = await page(owner, 'acme', [id], { customDomain: 'Status.Acme.Example.' });
  assert.equal(made.customDomain, domain);
  assert.equal(made.url, `https://${publicHost}/status/acme`);
  assert.deepEqual(made.customDomainStatus, {
    state: 'pending',
    records: [{ type: 'CNAME', name: domain, value: publicHost, sentence: `not looked up yet; publish CNAME ${publicHost} at ${domain}` }],
    certificate: { state: 'none', sentence: 'it is ordered once the records are found' },
  });

  const stateOf = async () => (await owner.get('/status-pages/acme')).body;
  const record = async (outcome: string) =>
    eventually(async () => {
      const { customDomainStatus } = await stateOf();
      const [found] = customDomainStatus.records;
      return found.outcome === outcome && (found as { sentence: string; observed?: string });
    });
  assert.match((await record('missing')).sentence, /^missing; publish CNAME qd\.example\.com at status\.acme\.example$/);
  dns.zone[domain] = { CNAME: ['elsewhere.example'] };
  assert.equal((await owner.post('/status-pages/acme/check-domain')).status, 202);
  await clock.advance('1m');
  const wrong = await record('mismatch');
  assert.deepEqual(
    [wrong.observed, wrong.sentence],
    ['CNAME elsewhere.example', `CNAME elsewhere.example stands there instead; replace it: publish CNAME ${publicHost} at ${domain}`],
  );
  dns.zone[domain] = 'servfail';
  await clock.advance('1m');
  assert.match((await record('error')).sentence, /do not answer/);

  // Until then the host is nobody's, and nothing was ordered for it.
  assert.equal((await readAt(ports.tls, domain, '/healthz')).text, 'ok\n');
  assert.equal((await presentedBy(ports.tls, domain)).subjectAltName, `DNS:${publicHost}`);
  assert.deepEqual([...new Set(authority.orders.map(({ name }) => name))], [publicHost]);

  await wasHost(app, domain);
  dns.zone[domain] = { CNAME: [publicHost] };
  await clock.advance('1m');
  await presentsIssued(ports.tls, domain).then(({ subjectAltName }) => assert.equal(subjectAltName, `DNS:${domain}`));
  const verified = await eventually(async () => {
    const found = await stateOf();
    return found.url === `https://${domain}` && found;
  });
  assert.equal(verified.customDomainStatus.state, 'verified');
  assert.equal(verified.customDomainStatus.certificate.state, 'valid');

  // The page is the root, with links that stay there; nothing else of this server answers at the domain.
  const opened = await incident(owner, id, 'Checkout is down');
  await publish(owner, opened, 'We look into it.');
  const root = await eventually(async () => {
    const found = await readAt(ports.tls, domain, '/');
    return found.text.includes('Checkout is down') && found.text.includes(`<link rel="canonical" href="https://${domain}">`) && found;
  });
  const links = [...root.text.matchAll(/(?:href|action)="([^"#]*)/g)]
    .map(([, link]) => link!)
    .filter((link) => !/^(data:|https:)/.test(link));
  assert.deepEqual([...new Set(links)].sort(), ['feed.atom', 'feed.rss', 'history', 'index.json', 'subscribe']);
  for (const path of ['/history', '/feed.atom', '/feed.rss', '/index.json', '/api/v2/summary.json', '/?utm=1'])
    assert.match((await readAt(ports.tls, domain, path)).text, /Checkout is down/, path);
  const history = await readAt(ports.tls, domain, '/history');
  assert.match(history.text, /<a href="\.\/">What is happening now/);
  const form = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' } };
  const subscribed = await readAt(ports.tls, domain, '/subscribe', form);
  assert.match(subscribed.text, /Look into your mailbox.*<a href="\.\/">/s);
  for (const path of ['/api/v1/me', '/docs', '/healthz', '/v2/', '/sign-in', '/status/acme', '/other', '/acme/history'])
    assert.equal((await readAt(ports.tls, domain, path)).status, 404, path);
  const usual = await readAt(ports.tls, publicHost, '/status/acme');
  assert.match(usual.text, /href="acme\/history"/, 'the usual address goes on');

  // Taken away, it is nobody's again, and its key is gone.
  const cleared = await owner.patch('/status-pages/acme', { customDomain: null });
  assert.deepEqual([cleared.status, cleared.body.customDomain, cleared.body.url], [200, undefined, `https://${publicHost}/status/acme`]);
  await eventually(async () => (await presentedBy(ports.tls, domain)).subjectAltName === `DNS:${publicHost}`);
  await eventually(async () => (await readAt(ports.tls, domain, '/healthz')).text === 'ok\n');
});
