import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { families } from '../../rules/export-families.ts';

const file = (name: string) => readFileSync(new URL(`../../../../../deploy/uptime/${name}`, import.meta.url), 'utf8');

const exported = new Map(families({ monitors: [], series: [], vantages: [] }).map((f) => [f.name, f.type]));

/** Series of ours that an expression asks for. */
const asked = (expression: string) => [...expression.matchAll(/\b(?:probe|uptime)_[a-z0-9_]+|\buptime:[a-z0-9_:]+/g)].map((m) => m[0]);

const rules = file('prometheus-rules.yml');
const recorded = new Set([...rules.matchAll(/- record: (\S+)/g)].map((m) => m[1]!));

const isThere = (name: string) =>
  recorded.has(name) ||
  (exported.has(name) && exported.get(name) !== 'histogram') ||
  (/_(bucket|sum|count)$/.test(name) && exported.get(name.replace(/_[a-z]+$/, '')) === 'histogram');

test('the alert rules and the dashboard ask for series that are exported or recorded', () => {
  const expressions = rules
    .split('\n')
    .filter((line) => !/^\s*#|summary:|description:/.test(line))
    .join('\n');
  const dashboard = JSON.parse(file('grafana-dashboard.json')) as {
    panels: { id: number; title: string; targets: { expr: string }[] }[];
    templating: { list: { definition?: string }[] };
  };
  const shown = [
    ...dashboard.panels.flatMap((p) => p.targets.map((t) => t.expr)),
    ...dashboard.templating.list.flatMap((v) => v.definition ?? []),
  ];
  for (const names of [asked(expressions), asked(shown.join('\n'))]) {
    assert.ok(names.length > 15);
    assert.deepEqual(
      [...new Set(names)].filter((name) => !isThere(name)),
      [],
    );
  }
  assert.equal(new Set(dashboard.panels.map((p) => p.id)).size, dashboard.panels.length);
  assert.ok(!isThere('probe_http_ssl_total') && !isThere('uptime_check_duration_seconds'), 'the check itself finds what is not there');
});
