import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { App } from '../../../../kernel/app.ts';
import { Refusal } from '../../../../kernel/errors.ts';
import { makeGuard, parseAllow } from '../../../../kernel/guard/index.ts';
import { literalHosts, trickUrls } from '../../../../kernel/guard/test/spellings.ts';
import { checkTarget } from '../../engine/check-monitor.ts';

const appWith = (allow = '') => ({ guard: makeGuard({ allow: parseAllow(allow) }) }) as App;

const refused = (act: () => void, what: string) =>
  assert.throws(
    act,
    (error) => error instanceof Refusal && error.status === 400 && error.message.length > 20,
    `${JSON.stringify(what)} became a target`,
  );

test('no spelling of a private or metadata address becomes a target, in a URL or as a host', () => {
  const app = appWith();
  assert.ok(literalHosts.length > 500);
  for (const host of literalHosts) {
    for (const url of [`http://${host}/`, `https://${host}:8443/x?y#z`]) refused(() => checkTarget(app, { http: { url } }), url);
    refused(() => checkTarget(app, { tcp: { host, port: 443 } }), host);
  }
  for (const url of trickUrls) refused(() => checkTarget(app, { http: { url } }), url);
  for (const host of ['localhost', 'LOCALHOST.', 'a.localhost', '[::1]', '::1', '[fe80::1%25eth0]', 'a/b', 'a?b', 'a@b', 'a:1'])
    refused(() => checkTarget(app, { tcp: { host, port: 443 } }), host);
});

test('public names and addresses are targets, whatever script they are written in', () => {
  const app = appWith();
  for (const url of [
    'https://example.org/',
    'http://EXAMPLE.org.:8080/a b?c=d#e',
    'https://bücher.example/',
    'https://例え.テスト/',
    'http://8.8.8.8/',
    'http://[2001:4860:4860::8888]/',
  ])
    checkTarget(app, { http: { url } });
  for (const host of ['example.org', 'bücher.example', '8.8.8.8', '2001:4860:4860::8888', '[2001:4860:4860::8888]', '_srv.example.org'])
    checkTarget(app, { tcp: { host, port: 5432 } });
});

test('what the operator opened is a target, its mail port too; metadata only by its own address', () => {
  const app = appWith('uptime=10.0.0.0/8,169.254.0.0/16');
  checkTarget(app, { http: { url: 'http://10.1.2.3:8080/' } });
  checkTarget(app, { tcp: { host: '10.1.2.3', port: 25 } });
  refused(() => checkTarget(app, { tcp: { host: '8.8.8.8', port: 25 } }), 'a public mail port');
  refused(() => checkTarget(app, { http: { url: 'https://mail.example:25/' } }), 'a mail port behind a name');
  refused(() => checkTarget(app, { http: { url: 'http://192.168.0.1/' } }), 'another network');
  refused(() => checkTarget(app, { http: { url: 'http://169.254.169.254/' } }), 'the metadata service');
  refused(() => checkTarget(appWith('webhook=10.0.0.0/8'), { http: { url: 'http://10.1.2.3/' } }), 'opened for something else');
});
