import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { settingLines } from '../../commands/config.ts';
import { type ExplainedSetting, readConfig } from '../config.ts';

const nowhere = join(tmpdir(), 'no-such-directory');
const read = (env: Record<string, string>) => readConfig(env, nowhere);
const bySetting = new Map(read({}).explained.map((each) => [each.env, each]));

/** What people write, for settings of every kind. A setting refuses most of them, and is asked again. */
const amount = fc.tuple(
  fc.oneof(fc.nat(9), fc.nat(4_000), fc.nat(40_000_000), fc.maxSafeNat()),
  fc.constantFrom('', 's', 'm', 'h', 'd', 'w', 'B', 'kB', 'KiB', 'MB', 'MiB', 'gib', 'GB', 'TiB', ' GiB'),
);
const quantity = amount.map(([n, unit]) => `${n}${unit}`);
const host = fc.constantFrom('0.0.0.0', '127.0.0.1', '[::1]', '', 'mail.example.com', 'ghcr.io');
const address = fc.tuple(host, fc.nat(65_535)).map(([name, port]) => `${name}:${port}`);
const url = fc
  .tuple(fc.constantFrom('https://a.example', 'http://[::1]:8080'), fc.constantFrom('', '/', '//', '/x/', '/?q=$HOME&r=1'))
  .map((parts) => parts.join(''));
const word = fc.constantFrom(
  ...'on off email uptime api worker debug info clusters.example.com /layers 10.0.0.0/8 1000-2000 s3://bucket/prefix'.split(' '),
  ...['a.example=https://b.example//', '/srv/a b', "it's", 'line\nbreak', '$(id) `id` "x" \\', 'ünï'],
);
const one = fc.oneof(quantity, address, url, word, fc.string());
const many = fc.array(fc.oneof(quantity, address, word), { maxLength: 4 }).map((parts) => parts.join(', '));
const typed = fc.oneof({ arbitrary: one, weight: 3 }, { arbitrary: many, weight: 1 });

/** What the setting makes of a text; undefined: it refuses it. */
function explain(env: string, text: string): ExplainedSetting | undefined {
  try {
    return read({ [env]: text }).explained.find((each) => each.env === env);
  } catch {
    return undefined;
  }
}

const plain = '0 3 25 64 100 600 5s 90s 15m 36h 2w 1GiB 20GB 5000000 127.0.0.1:9'.split(' ');
const words = [
  '',
  ...'on off debug warn email api,worker worker 30,90 quay.io 1000-2000 10.0.0.0/8 172.16.0.0/12 x.example /layers a@b.example https://x.example/ http://127.0.0.1:9/directory'.split(
    ' ',
  ),
];

/** The text that the setting shows for this one; undefined: it refuses it, or hides it. */
function checkRoundTrip(env: string, written: string): string | undefined {
  const found = explain(env, written);
  if (!found || found.value === '(set)') return undefined;
  const again = explain(env, found.text);
  assert.deepEqual(again?.value, found.value, `${env}=${written} is shown as ${found.text}`);
  assert.equal(again?.text, found.text);
  return found.text;
}

test('what is shown of a setting is taken by it again, and means the same', () => {
  const settings = [...bySetting.keys()];
  for (const [env, { text, value }] of bySetting) {
    assert.deepEqual(explain(env, text)?.value, value, `the default of ${env}: ${text}`);
    const isSecret = explain(env, 'x')?.value === '(set)';
    const shown = new Set([...plain, ...words].map((each) => checkRoundTrip(env, each)));
    assert.ok(isSecret || shown.size > 2, `${env} took ${[...shown].join(' ')}`);
  }
  fc.assert(
    fc.property(fc.constantFrom(...settings), typed, (env, written) => void checkRoundTrip(env, written.replaceAll('\0', ''))),
    { numRuns: 2_000 },
  );
});

test('numbers are shown with the unit that people would type', () => {
  const shown = Object.fromEntries(
    read({ QUARTERDECK_SMTP_INBOUND: '0.0.0.0:25', QUARTERDECK_REGISTRY_UPLOAD_SECONDS: '900' }).explained.map((each) => [
      each.key,
      each.text,
    ]),
  );
  assert.deepEqual(
    [shown.registry_quota_bytes, shown.email_inbound_quota_bytes, shown.body_memory, shown.registry_upload_seconds, shown.audit_days],
    ['10GiB', '5GiB', '128MiB', '15m', '730d'],
  );
  assert.deepEqual([shown.smtp_inbound, shown.uptime_intervals], ['0.0.0.0:25', '30s,1m,2m,5m,10m,30m,1h']);
  assert.match(shown.registry_upstreams!, /^docker\.io=https:\/\/registry-1\.docker\.io,ghcr\.io,quay\.io,/);
});

test('a shell reads the whole answer, and no secret is in it', () => {
  const hostile = `it's $(exit 9) \`exit 9\` "x" \\ # y`;
  const env = { QUARTERDECK_MAIL_FROM: hostile, QUARTERDECK_REGION: 'line\nbreak', QUARTERDECK_METRICS_TOKEN: 's3cret' };
  const lines = read(env).explained.map(settingLines).join('\n');
  assert.doesNotMatch(lines, /s3cret/);
  const script = `set -e\n${lines}\nprintf '%s|' "$QUARTERDECK_MAIL_FROM" "$QUARTERDECK_REGION" "$QUARTERDECK_REGISTRY_QUOTA_BYTES" "$QUARTERDECK_METRICS_TOKEN"`;
  assert.equal(execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8', env: {} }), `${hostile}|line\nbreak|10GiB||`);
});
