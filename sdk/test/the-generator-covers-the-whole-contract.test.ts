import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { columns } from '../../contract/columns.ts';
import { next } from '../../contract/next-commands.ts';
import type { Column, Commands } from '../commands.ts';
import { type Document, opsOf } from '../generate/document.ts';
import { generate } from '../generate/index.ts';
import { refuseAmbiguity, wordsOf } from '../generate/names.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const tsc = join(root, 'node_modules/typescript-7/bin/tsc');
const document = JSON.parse(readFileSync(join(root, 'openapi/v1.json'), 'utf8')) as Document;
const declared = { secrets: new Set<string>(), columns, next };

test('every operation of the contract, served or not, has a command of its own that can be typed', () => {
  const { commands } = JSON.parse(generate(document, declared)['commands.json']!) as Commands;
  assert.equal(commands.length, opsOf(document).length);
  for (const { words, operation } of commands) for (const word of words) assert.match(word, /^[a-z0-9]+(-[a-z0-9]+)*$/, operation);
});

test('every list declares four to six columns, or the generator names the file', () => {
  const given = (lists: Record<string, (string | Column)[]>) => () =>
    generate(document, { ...declared, columns: { ...columns, listMessages: lists } });
  assert.throws(
    given({}),
    /listMessages answers with the list messages, which has no columns: declare its columns in contract\/columns\.ts/,
  );
  assert.throws(given({ messages: ['id', 'to', 'state'] }), /listMessages messages has 3 columns that are not wide, and needs 4 to 6/);
  assert.throws(given({ messages: ['id', 'to', 'state', 'nope'] }), /has the column nope, which is no field of its items/);
  assert.throws(given({ messages: columns['listMessages']!['messages']!, other: ['id'] }), /has columns for other, which is no list/);
  const ids = new Set(opsOf(document).map((op) => op.id));
  for (const id of [...Object.keys(columns), ...Object.keys(next)])
    assert.ok(ids.has(id), `contract/columns.ts has ${id}, which is no operation`);
});

test('a suggested command is a whole one, filled from the answer', () => {
  const given = (line: string) => () => generate(document, { ...declared, next: { getCluster: [line] } });
  assert.throws(given('clusters nods list {name}'), /getCluster suggests "clusters nods list \{name\}", which is no whole command/);
  assert.throws(given('clusters nodes list'), /which is no whole command/);
  assert.throws(given('clusters nodes list {id}'), /but its answer has no id/);
});

test('names come from area, path and verb', () => {
  const name = (id: string, area: string, method: string, path: string) => wordsOf({ id, area, method, path }).join(' ');
  assert.equal(name('deleteRole', 'iam', 'DELETE', '/iam/roles/{id}'), 'iam roles delete');
  assert.equal(name('listRegistryTags', 'registry', 'GET', '/registry/registries/{slug}/tags'), 'registry tags list');
  assert.equal(name('acknowledgeIncident', 'oncall', 'POST', '/oncall/incidents/{id}/ack'), 'oncall incidents ack');
  assert.equal(name('createToken', 'tokens', 'POST', '/tokens'), 'tokens create');
  assert.equal(name('listClusterVersions', 'clusters', 'GET', '/cluster-versions'), 'clusters versions list');
  assert.equal(name('pingUptime', 'uptime', 'GET', '/uptime/ping'), 'uptime ping');
  assert.throws(
    () =>
      refuseAmbiguity([
        { id: 'a', words: ['x', 'list'] },
        { id: 'b', words: ['x', 'list'] },
      ]),
    /both called "x list"/,
  );
  assert.throws(
    () =>
      refuseAmbiguity([
        { id: 'a', words: ['x', 'send'] },
        { id: 'b', words: ['x', 'send', 'batch'] },
      ]),
    /below the command of a/,
  );
});

test('two inputs of one name are refused: they would overwrite each other', () => {
  const doubled = structuredClone(document);
  const op = Object.values(doubled.paths)
    .flatMap((methods) => Object.values(methods))
    .find((o) => o.operationId === 'createToken')!;
  op.parameters = [{ name: 'name', in: 'query', required: false, schema: { type: 'string' } }];
  assert.throws(() => opsOf(doubled), /createToken has two inputs called name/);
});

test('the types of the whole contract compile, and are those of the schemas', (t) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'qds-')));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'sdk/generated'), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  for (const file of ['index.ts', 'types.ts', 'errors.ts', 'events.ts', 'call.ts', 'send.ts'])
    cpSync(join(root, 'sdk', file), join(folder, 'sdk', file));
  for (const [name, text] of Object.entries(generate(document, declared))) writeFileSync(join(folder, 'sdk/generated', name), text);
  const use = join(folder, 'use.ts');
  writeFileSync(
    use,
    `import { quarterdeck } from './sdk/index.ts';
     const api = quarterdeck({ url: 'http://localhost' });
     const status: 'open' | 'acknowledged' | 'resolved' = (await api.oncall.getIncident('inc_1')).status;
     await api.email.sendEmail({ from: 'a@example.com', to: ['b@example.com'], subject: status, headers: { 'X-A': '1' } });
     await api.clusters.createRegistrationToken('prod', { name: 'node' });
     await api.registry.createRegistryLogin();
     await api.oncall.setServicePolicy('svc_1', { escalationPolicyId: null });
     await api.oncall.receivePrometheusAlerts('src_1', { body: [{ labels: { alertname: 'x' } }] });
     for await (const { messages } of api.email.listMessages.pages({ direction: 'send' })) messages.map((m) => m.id);
     (await api.email.getMessageContent('msg_1')).body?.getReader();
     // @ts-expect-error not one of the choices
     await api.clusters.createCluster({ name: 'prod', tier: 'enormous' });
     // @ts-expect-error a required field
     await api.uptime.createMonitor({ name: 'web' });
     // @ts-expect-error not a paged list
     api.tokens.deleteToken.pages;
`,
  );
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'esnext',
    module: 'nodenext',
    lib: ['esnext'],
    types: ['node'],
    allowImportingTsExtensions: true,
    verbatimModuleSyntax: true,
    skipLibCheck: true,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.ts'] }));
  const { stdout, status } = spawnSync(process.execPath, [tsc, '-p', folder, '--listFiles', '--pretty', 'false'], { encoding: 'utf8' });
  assert.deepEqual([status, stdout.split('\n').filter((line) => /\berror TS/.test(line))], [0, []]);
  assert.ok(stdout.includes(join(folder, 'sdk/generated/api.ts')));
});
