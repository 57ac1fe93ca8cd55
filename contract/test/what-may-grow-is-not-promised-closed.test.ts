import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { type } from '../../sdk/generate/types.ts';
import { breakingChanges } from '../compatible.ts';
import { fieldAt, growing, markGrowing } from '../growing.ts';
import { channelNames } from '../oncall/channels.ts';

const whole = JSON.parse(await readFile(new URL('../../openapi/v1.json', import.meta.url), 'utf8')) as object;

const withValue = (path: string, value: string) => {
  const later = structuredClone(whole);
  fieldAt(later, path)!.enum!.push(value);
  return later;
};

test('every enum that may grow is one', () => {
  for (const path of Object.keys(growing)) assert.ok(fieldAt(whole, path)?.enum, `${path} is no enum of the document`);
});

test('a new enum value breaks no client where the enum may grow, and is found where it may not', () => {
  const changes = (later: object) => breakingChanges(markGrowing(whole), markGrowing(later));
  assert.deepEqual(changes(withValue('OncallNotificationRule.channel', 'pigeon')), []);
  assert.deepEqual(changes(withValue('UptimeMonitor.kind', 'telepathy')), []);
  const paused = changes(withValue('UptimeMonitor.state', 'paused'));
  assert.ok(paused.length && paused.every((c) => c.includes('state: may now be another value than pending,up,down')), paused.join('\n'));
});

test('what a request may say still only widens', () => {
  const later = structuredClone(whole);
  fieldAt(later, 'OncallNotificationRuleInput.channel')!.enum!.pop();
  assert.match(
    breakingChanges(markGrowing(whole), markGrowing(later)).join(),
    new RegExp(`channel: takes only ${channelNames.slice(0, -1)} now`),
  );
});

test('the SDK names the known values and takes others', () => {
  const channel = fieldAt(markGrowing(whole), 'OncallNotificationRule.channel') as Parameters<typeof type>[0];
  assert.equal(type(channel, 0), [...channelNames.map((name) => `'${name}'`), '(string & {})'].join(' | '));
  assert.equal(type(fieldAt(whole, 'OncallIncident.status') as typeof channel, 0), "'open' | 'acknowledged' | 'resolved'");
});
