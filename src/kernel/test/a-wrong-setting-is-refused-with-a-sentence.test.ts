import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { checkEdge } from '../../boot/edge.ts';
import { openStorage } from '../../boot/storage.ts';
import { readConfig } from '../config.ts';
import { exitCodes, Stop } from '../errors.ts';
import { parseAllow } from '../guard/index.ts';
import { isTrusted } from '../http/proxies.ts';

const nowhere = join(tmpdir(), 'no-such-directory');
const config = (env: Record<string, string>) => readConfig(env, nowhere).config;
const isConfiguration = (sentence: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Stop, String(error));
  assert.equal(error.exitCode, exitCodes.configuration);
  assert.match(error.message, sentence);
  return true;
};

test('a wrong setting is refused with a sentence that names it', () => {
  const wrong: [string, string, RegExp][] = [
    ['LISTEN', 'localhost', /QUARTERDECK_LISTEN is wrong: expected host:port, found "localhost"/],
    ['LISTEN', '127.0.0.1:70000', /expected host:port/],
    ['LISTEN', 'a b:80', /expected host:port/],
    ['LISTEN', '::1:80', /expected host:port/],
    ['LISTEN', '', /QUARTERDECK_LISTEN is wrong: expected host:port, found ""/],
    ['DATABASE_POOL', 'many', /expected a whole number from 2 to 200, found "many"/],
    ['DATABASE_POOL', '1', /expected a whole number from 2 to 200/],
    ['DATABASE_POOL', '201', /expected a whole number/],
    ['DATABASE_POOL', '2.5', /expected a whole number/],
    ['RATE_LIMIT', '', /QUARTERDECK_RATE_LIMIT is wrong: expected a whole number from 0 to 1000000, found ""/],
    ['RATE_LIMIT', '0x10', /expected a whole number/],
    ['RATE_LIMIT', '-1', /expected a whole number/],
    ['REGISTRY_QUOTA_BYTES', '10G', /expected a size from 0 to 1000TB such as 10GiB, in whole bytes, found "10G"/],
    ['REGISTRY_QUOTA_BYTES', '', /expected a size/],
    ['REGISTRY_QUOTA_BYTES', '1.5GiB', /expected a size/],
    ['REGISTRY_QUOTA_BYTES', '-1GiB', /expected a size/],
    ['REGISTRY_QUOTA_BYTES', '10m', /expected a size/],
    ['REGISTRY_QUOTA_BYTES', '1001TB', /expected a size/],
    ['REGISTRY_QUOTA_BYTES', '999999999999999TiB', /expected a size/],
    ['BODY_MEMORY', '33kB', /expected a size from 32MiB to 64GiB such as 1GiB, in whole MiB, found "33kB"/],
    ['REGISTRY_GC_DELAY_SECONDS', '59s', /expected a duration from 1m to 365d such as 15m, in whole seconds, found "59s"/],
    ['REGISTRY_GC_DELAY_SECONDS', 'a day', /expected a duration/],
    ['AUDIT_DAYS', '36h', /expected a duration from 0 to 36500d such as 52w, in whole days, found "36h"/],
    ['UPTIME_INTERVALS', '30s,1s', /expected a duration from 5s to 1d such as 15m, in whole seconds, found "1s"/],
    ['UPTIME_INTERVALS', ' , ', /expected at least one duration such as 30s/],
    ['PUBLIC_URL', 'cloud.example', /expected an http or https URL, found "cloud\.example"/],
    ['PUBLIC_URL', 'cloud.example:8080', /expected an http or https URL/],
    ['PUBLIC_URL', 'javascript:alert(1)', /expected an http or https URL/],
    ['CLUSTER_IMAGES', 'https://registry.k8s.io', /CLUSTER_IMAGES is wrong: expected a registry such as .*, without https:\/\/ and a tag/],
    ['CLUSTER_IMAGES', 'registry.k8s.io/', /expected a registry/],
    ['CLUSTER_IMAGES', 'registry.k8s.io/pause:3', /expected a registry/],
    ['CLUSTER_IMAGES', 'Registry.example/x', /expected a registry/],
    ['CLUSTER_IMAGES', 'infra/cache', /expected a registry/],
    ['CLUSTER_IMAGES_LOGIN', 'puller', /CLUSTER_IMAGES_LOGIN is wrong: expected user:password/],
    ['CLUSTER_IMAGES_LOGIN', 'a:b c', /expected user:password/],
    ['ROLES', 'api,cook', /"cook" is none of api, registry, /],
    ['ENTITLEMENTS', 'email,fax', /"fax" is none of email, uptime/],
    ['LOG_LEVEL', 'loud', /"loud" is none of trace, debug, /],
    ['DATA', '', /QUARTERDECK_DATA is wrong: expected a directory/],
    ['CONFIG', '/nowhere/quarterdeck.toml', /QUARTERDECK_CONFIG names \/nowhere\/quarterdeck\.toml, which does not exist/],
  ];
  for (const [name, value, sentence] of wrong)
    assert.throws(() => config({ [`QUARTERDECK_${name}`]: value }), isConfiguration(sentence), `${name}=${value}`);
});

test('what parts check themselves is refused the same way', async () => {
  assert.throws(() => checkEdge(config({ QUARTERDECK_TLS_CERT: 'a.pem' })), isConfiguration(/go together; one of them is missing/));
  assert.throws(
    () => checkEdge(config({ QUARTERDECK_TLS_CERT: '/nowhere/a.pem', QUARTERDECK_TLS_KEY: 'b.pem' })),
    isConfiguration(/cannot be read: ENOENT \/nowhere\/a\.pem/),
  );
  assert.throws(() => isTrusted(['10.0.0.0/33']), isConfiguration(/QUARTERDECK_TRUSTED_PROXIES is wrong: "10\.0\.0\.0\/33"/));
  assert.throws(() => isTrusted(['proxy.example']), isConfiguration(/"proxy\.example" is neither an address nor a CIDR/));
  assert.throws(() => parseAllow('uptime=nonsense'), isConfiguration(/nonsense/));
  await assert.rejects(
    openStorage(config({ QUARTERDECK_STORAGE: 'gs://bucket' })),
    isConfiguration(/expected s3:\/\/bucket\/prefix, found "gs:\/\/bucket"/),
  );
});

test('plain HTTP leaves loopback only behind a proxy of the operator', () => {
  const plain = (listen: string, more: Record<string, string> = {}) => checkEdge(config({ QUARTERDECK_LISTEN: listen, ...more }));
  for (const listen of ['8080', ':8080', 'localhost:8080', '127.0.0.1:0', '127.8.9.1:80', '[::1]:80'])
    assert.equal(plain(listen), undefined, listen);
  for (const listen of ['0.0.0.0:0', '[::]:80', '10.0.0.1:80', '127.evil.example:80', 'cloud.example:80', '[::ffff:10.0.0.1]:80']) {
    assert.throws(() => plain(listen), isConfiguration(/without TLS would send tokens in the clear/), listen);
    assert.equal(plain(listen, { QUARTERDECK_TRUSTED_PROXIES: '10.0.0.2' }), undefined);
  }
});

test('with an address for certificates this server is the edge, unless a proxy is in front', () => {
  const acme = { QUARTERDECK_ACME: 'you@example.com', QUARTERDECK_PUBLIC_URL: 'https://qd.example.com' };
  const places = (env: Record<string, string>) => {
    const { listen, http_listen } = config(env);
    return [`${listen.host} ${listen.port}`, http_listen && `${http_listen.host} ${http_listen.port}`];
  };
  assert.deepEqual(places({}), ['127.0.0.1 8080', undefined]);
  assert.deepEqual(places(acme), [':: 443', ':: 80']);
  assert.deepEqual(places({ ...acme, QUARTERDECK_HTTP_LISTEN: '', QUARTERDECK_LISTEN: '10.0.0.1:8443' }), ['10.0.0.1 8443', undefined]);
  assert.deepEqual(places({ ...acme, QUARTERDECK_TRUSTED_PROXIES: '10.0.0.2' }), ['127.0.0.1 8080', undefined]);
  assert.deepEqual(places({ ...acme, QUARTERDECK_ROLES: 'worker, smtp' }), ['127.0.0.1 8080', ':: 80']);
  checkEdge(config(acme));

  const refused = (more: Record<string, string>, sentence: RegExp) =>
    assert.throws(() => checkEdge(config({ ...acme, ...more })), isConfiguration(sentence));
  refused({ QUARTERDECK_PUBLIC_URL: '' }, /set QUARTERDECK_PUBLIC_URL to https:\/\//);
  refused({ QUARTERDECK_PUBLIC_URL: 'http://qd.example.com' }, /set QUARTERDECK_PUBLIC_URL to https:\/\//);
  for (const host of ['localhost', 'qd', '192.0.2.1', '[2001:db8::1]', 'qd.invalid'])
    refused({ QUARTERDECK_PUBLIC_URL: `https://${host}` }, /is no name in the DNS/);
  refused({ QUARTERDECK_ACME_EAB_KID: 'k' }, /QUARTERDECK_ACME_EAB_KID and QUARTERDECK_ACME_EAB_HMAC go together/);
  for (const [name, value, sentence] of [
    ['ACME', 'nobody', /expected an email address such as you@example\.com, found "nobody"/],
    ['ACME', 'a@b.example?bcc=c', /expected an email address/],
    ['ACME_DIRECTORY', 'http://ca.example/directory', /expected an https URL/],
    ['ACME_DIRECTORY', 'http://127.0.0.1.evil.example/', /expected an https URL/],
    ['HTTP_LISTEN', '80x', /expected host:port/],
  ] as const)
    assert.throws(() => config({ [`QUARTERDECK_${name}`]: value }), isConfiguration(sentence), value);
});

test('addresses, lists and numbers are read as they are meant', () => {
  assert.deepEqual(config({}).listen, { host: '127.0.0.1', port: 8080 });
  assert.deepEqual(config({ QUARTERDECK_LISTEN: '9000' }).listen, { host: '127.0.0.1', port: 9000 });
  assert.deepEqual(config({ QUARTERDECK_LISTEN: '[::1]:9000' }).listen, { host: '::1', port: 9000 });
  assert.deepEqual(config({ QUARTERDECK_TRUSTED_PROXIES: ' 10.0.0.1, ,10.1.0.0/16 ' }).trusted_proxies, ['10.0.0.1', '10.1.0.0/16']);
  assert.deepEqual(config({ QUARTERDECK_ENTITLEMENTS: '' }).entitlements, []);
  assert.equal(config({ QUARTERDECK_PUBLIC_URL: 'https://cloud.example/' }).public_url, 'https://cloud.example');
  const { body_memory, registry_quota_bytes, registry_gc_delay_seconds, uptime_intervals, audit_days } = config({
    QUARTERDECK_BODY_MEMORY: '1GiB',
    QUARTERDECK_REGISTRY_QUOTA_BYTES: '20 GB',
    QUARTERDECK_REGISTRY_GC_DELAY_SECONDS: '90m',
    QUARTERDECK_UPTIME_INTERVALS: '5m,30,1m,60s',
    QUARTERDECK_AUDIT_DAYS: '2w',
  });
  assert.deepEqual(
    [body_memory, registry_quota_bytes, registry_gc_delay_seconds, uptime_intervals, audit_days],
    [1024, 20e9, 5_400, [30, 60, 300], 14],
  );
  assert.deepEqual([config({ QUARTERDECK_BODY_MEMORY: '64' }).body_memory, config({ QUARTERDECK_AUDIT_DAYS: '0' }).audit_days], [64, 0]);
  assert.equal(config({ QUARTERDECK_METRICS_LISTEN: '' }).metrics_listen, undefined);
  assert.equal(config({}).data, resolve(nowhere, 'data'));
  assert.equal(config({ QUARTERDECK_DATA: '/srv/quarterdeck' }).data, '/srv/quarterdeck');
});

test('the file is read too, the environment has the last word, and secrets are not shown', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'qdc-'));
  t.after(() => rm(dir, { recursive: true }));
  const file = join(dir, 'quarterdeck.toml');
  const read = async (text: string, env: Record<string, string> = {}) => {
    await writeFile(file, text);
    return readConfig(env, dir);
  };

  const { config: found, explained } = await read(
    'listen = "127.0.0.1:9001"\nroles = ["api", "worker"]\nrate_limit = 5\nmetrics_token = "s3cret"\n',
    { QUARTERDECK_RATE_LIMIT: '7' },
  );
  assert.deepEqual(found.listen, { host: '127.0.0.1', port: 9001 });
  assert.deepEqual(found.roles, ['api', 'worker']);
  assert.equal(found.rate_limit, 7);
  const origin = Object.fromEntries(explained.map((e) => [e.key, e.origin]));
  assert.deepEqual([origin.listen, origin.rate_limit, origin.region], ['file', 'environment', 'default']);
  assert.equal(found.metrics_token, 's3cret');
  assert.doesNotMatch(JSON.stringify(explained), /s3cret/);
  assert.ok(explained.every((e) => e.meaning && e.env.startsWith('QUARTERDECK_')));

  await assert.rejects(
    read('lisen = "127.0.0.1:1"'),
    isConfiguration(/has an unknown setting "lisen"; `quarterdeck config` lists them all/),
  );
  await assert.rejects(read('toString = 1'), isConfiguration(/unknown setting "toString"/));
  await assert.rejects(read('listen = '), isConfiguration(/is not valid TOML/));
  await mkdir(join(dir, 'folder'));
  assert.throws(() => readConfig({ QUARTERDECK_CONFIG: join(dir, 'folder') }, dir), isConfiguration(/cannot be read \(EISDIR\)/));
  await assert.rejects(
    read('[listen]\nhost = "127.0.0.1"'),
    isConfiguration(/listen in .*quarterdeck\.toml is wrong: expected a single value or a list/),
  );
  await assert.rejects(read('rate_limit = -1'), isConfiguration(/rate_limit in .*quarterdeck\.toml is wrong: expected a whole number/));
});
