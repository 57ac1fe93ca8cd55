import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyText } from '../../../../../test/harness/any-text.ts';
import { addMonitor, type Exported, families, isStale, type Snapshot, type VantageSample } from '../../rules/export-families.ts';
import { asOpenMetrics, bound, type Family, formatFor, labelText, takesGzip, writePieces } from '../../rules/export-text.ts';
import { emptyHistogram, latencyBounds } from '../../rules/latency.ts';

const text = (all: readonly Family[]) => [...writePieces(all)].join('');

/** A reader of its own, after the description of the format: HELP and TYPE once and before the samples, then `name{labels} value`. */
function read(written: string) {
  const samples: { name: string; labels: Record<string, string>; value: number }[] = [];
  const types = new Map<string, string>();
  for (const line of written.split('\n').slice(0, -1)) {
    const [, kind, family, rest] = /^# (HELP|TYPE) ([a-z_]+) (.*)$/.exec(line) ?? [];
    if (kind === 'TYPE') {
      assert.ok(!types.has(family!), `${family} twice`);
      types.set(family!, rest!);
    }
    if (kind || line === '# EOF') continue;
    const [, name, inner = '', value] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/s.exec(line) ?? assert.fail(`cannot read ${JSON.stringify(line)}`);
    const labels: Record<string, string> = {};
    let at = 0;
    const pair = /([a-z_]+)="((?:[^"\\]|\\\\|\\n|\\")*)",?/y;
    while (at < inner.length) {
      pair.lastIndex = at;
      const found = pair.exec(inner) ?? assert.fail(`cannot read ${JSON.stringify(inner)}`);
      labels[found[1]!] = found[2]!.replaceAll(/\\(.)/gs, (_, c) => (c === 'n' ? '\n' : c));
      at = pair.lastIndex;
    }
    samples.push({ name: name!, labels, value: Number(value!.replace('Inf', 'Infinity')) });
  }
  return { samples, types };
}

const anything = fc.oneof(anyText(), fc.constantFrom('\\', '"', '\n', 'a\\nb', '"}\nprobe_success 0\n', '', '☃', '\r\n'));

test('whatever stands in a label is read back as it was, and begins no line of its own', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anything, anything, fc.double({ noNaN: true })), { minLength: 1, maxLength: 5 }), (values) => {
      const samples = values.map(([monitor, instance, value]) => ({ labels: { monitor, instance }, value }));
      const written = samples.map((s) => ({ ...s, labels: labelText(s.labels) }));
      const found = read(text([{ name: 'probe_success', type: 'gauge', help: 'x', samples: written }]));
      assert.deepEqual(
        found.samples,
        samples.map((s) => ({ ...s, name: 'probe_success', value: s.value === 0 ? 0 : s.value })),
      );
    }),
    { numRuns: 500 },
  );
});

test('OpenMetrics is the same with its own names for counters and an end', async () => {
  const counter: Family = {
    name: 'uptime_check_total',
    type: 'counter',
    help: 'Checks',
    samples: [{ labels: labelText({ a: '# TYPE x_total ' }), value: 3 }],
  };
  const gauge: Family = { name: 'probe_success', type: 'gauge', help: 'x', samples: [{ labels: '', value: 1 }] };
  assert.equal(
    (await Array.fromAsync(asOpenMetrics(writePieces([counter, gauge])))).join(''),
    '# HELP uptime_check Checks\n# TYPE uptime_check counter\nuptime_check_total{a="# TYPE x_total "} 3\n' +
      '# HELP probe_success x\n# TYPE probe_success gauge\nprobe_success 1\n# EOF\n',
  );
  assert.equal(text([{ ...gauge, samples: [] }]), '');
  assert.deepEqual([1, 0.5, 30].map(bound), ['1.0', '0.5', '30.0']);
});

test('the scraper gets the format that it likes best', () => {
  const prometheus242 =
    'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
  const prometheus3 =
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2';
  assert.equal(formatFor(prometheus242), 'openmetrics');
  assert.equal(formatFor(prometheus3), 'openmetrics');
  for (const plain of [
    undefined,
    '',
    '*/*',
    'text/plain',
    'text/html, */*',
    'application/openmetrics-text;version=0.0.1',
    'application/openmetrics-text;q=0',
    'application/openmetrics-text;q=0.1, text/plain',
    ';;;',
    'application/openmetrics-text;q=x',
  ])
    assert.equal(formatFor(plain), 'text', String(plain));
  assert.deepEqual(['gzip', 'gzip;q=0.5, br', 'GZIP', 'br', 'gzip;q=0', undefined].map(takesGzip), [true, true, true, false, false, false]);
});

const seen = (more: Partial<VantageSample> = {}): VantageSample => ({
  vantage: 'local',
  latest: { outcome: 'pass', latencyMs: 150 },
  age: 10,
  passed: 5,
  failed: 1,
  errors: 2,
  missed: 3,
  latencySum: 4.5,
  latencyHist: emptyHistogram().map((_, i) => i),
  ...more,
});
const exported = (more: Partial<Exported> = {}): Exported => ({
  id: 'mon_1',
  name: 'front',
  service: 'shop',
  kind: 'http',
  target: 'https://shop.example/',
  enabled: true,
  intervalSeconds: 60,
  timeoutMs: 10_000,
  state: 'up',
  flapping: false,
  vantages: [seen()],
  ...more,
});
const valuesOf = (monitor: Exported, name: string) => {
  const snapshot: Snapshot = { monitors: [], series: [], vantages: [] };
  addMonitor(snapshot, monitor);
  return read(text(families(snapshot))).samples.filter((s) => s.name === name);
};

test('a check is told as blackbox_exporter would', () => {
  const latest: VantageSample['latest'] = {
    ...seen().latest,
    phases: { resolve: 1, connect: 2, tls: 3, firstByte: 4, transfer: 5 },
    status: 200,
    redirects: 1,
    family: 6,
    httpVersion: '1.1',
    contentLength: 12,
    certificateUntil: 1_800_000_000_500,
    tlsVersion: 'TLS 1.3',
  };
  const monitor = exported({ vantages: [seen({ latest })] });
  const labels = {
    monitor_id: 'mon_1',
    monitor: 'front',
    service: 'shop',
    kind: 'http',
    instance: 'https://shop.example/',
    vantage: 'local',
  };
  const one = (name: string) => {
    const found = valuesOf(monitor, name);
    assert.equal(found.length, 1, name);
    assert.deepEqual(found[0]!.labels, labels, name);
    return found[0]!.value;
  };
  assert.deepEqual(
    Object.fromEntries(
      [
        'probe_success',
        'probe_duration_seconds',
        'probe_timeout_seconds',
        'probe_dns_lookup_time_seconds',
        'probe_ip_protocol',
        'probe_failed_due_to_regex',
        'probe_ssl_earliest_cert_expiry',
        'probe_http_status_code',
        'probe_http_redirects',
        'probe_http_ssl',
        'probe_http_version',
        'probe_http_content_length',
      ].map((name) => [name, one(name)]),
    ),
    {
      probe_success: 1,
      probe_duration_seconds: 0.15,
      probe_timeout_seconds: 10,
      probe_dns_lookup_time_seconds: 0.001,
      probe_ip_protocol: 6,
      probe_failed_due_to_regex: 0,
      probe_ssl_earliest_cert_expiry: 1_800_000_000.5,
      probe_http_status_code: 200,
      probe_http_redirects: 1,
      probe_http_ssl: 1,
      probe_http_version: 1.1,
      probe_http_content_length: 12,
    },
  );
  assert.deepEqual(
    valuesOf(monitor, 'probe_http_duration_seconds').map((s) => [s.labels.phase, s.value]),
    [
      ['resolve', 0.001],
      ['connect', 0.002],
      ['tls', 0.003],
      ['processing', 0.004],
      ['transfer', 0.005],
    ],
  );
  assert.deepEqual(
    valuesOf(monitor, 'probe_tls_version_info').map((s) => [s.labels.version, s.value]),
    [['TLS 1.3', 1]],
  );
  assert.deepEqual(
    valuesOf(monitor, 'uptime_check_total').map((s) => [s.labels, s.value]),
    [
      [{ monitor_id: 'mon_1', vantage: 'local', outcome: 'pass' }, 5],
      [{ monitor_id: 'mon_1', vantage: 'local', outcome: 'fail' }, 1],
      [{ monitor_id: 'mon_1', vantage: 'local', outcome: 'error' }, 2],
      [{ monitor_id: 'mon_1', vantage: 'local', outcome: 'missed' }, 3],
    ],
  );
  assert.deepEqual(
    valuesOf(monitor, 'uptime_monitor_state').map((s) => [s.labels.state, s.value]),
    [
      ['pending', 0],
      ['up', 1],
      ['down', 0],
    ],
  );
  const failed = exported({
    kind: 'tcp',
    vantages: [seen({ latest: { ...seen().latest, outcome: 'fail', errorKind: 'prefix_mismatch' } })],
  });
  assert.equal(valuesOf(failed, 'probe_success')[0]!.value, 0);
  assert.equal(valuesOf(failed, 'probe_failed_due_to_regex')[0]!.value, 1);
  assert.equal(valuesOf(failed, 'probe_http_status_code').length, 0);
});

test('histograms only grow from bucket to bucket and end at their count', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat({ max: 1_000 }), { minLength: latencyBounds.length + 1, maxLength: latencyBounds.length + 1 }),
      (latencyHist) => {
        const monitor = exported({ vantages: [seen({ latencyHist })] });
        const buckets = valuesOf(monitor, 'uptime_check_duration_seconds_bucket');
        assert.deepEqual(
          buckets.map((b) => b.labels.le),
          [...[0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10].map(bound), '+Inf'],
        );
        for (let i = 1; i < buckets.length; i++) assert.ok(buckets[i]!.value >= buckets[i - 1]!.value);
        const total = latencyHist.reduce((sum, n) => sum + n, 0);
        assert.equal(buckets.at(-1)!.value, total);
        assert.equal(valuesOf(monitor, 'uptime_check_duration_seconds_count')[0]!.value, total);
      },
    ),
    { numRuns: 50 },
  );
});

test('what is stale, disabled or was never made is not told as a result', () => {
  assert.deepEqual([isStale(exported(), 190), isStale(exported(), 190.1)], [false, true]);
  for (const name of ['probe_success', 'uptime_check_total']) {
    assert.equal(valuesOf(exported({ vantages: [seen({ age: 191 })] }), name).length, 0);
    assert.equal(valuesOf(exported({ enabled: false }), name).length, 0);
  }
  const missed = exported({ vantages: [seen({ latest: { ...seen().latest, outcome: 'missed' } })] });
  assert.equal(valuesOf(missed, 'probe_success').length, 0);
  assert.equal(valuesOf(missed, 'uptime_check_total').length, 4);
  assert.equal(valuesOf(exported({ vantages: [], state: 'down' }), 'uptime_monitor_state').length, 3);
});
