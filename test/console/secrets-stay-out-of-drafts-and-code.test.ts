import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSecret, masked, withoutSecretFields } from '../../console/data/secret-fields.ts';
import commands from '../../sdk/generated/commands.json' with { type: 'json' };

interface Field {
  name: string;
  fields?: Field[];
}

const fieldsOf = (operation: string) => commands.commands.find((command) => command.operation === operation)!.fields as Field[];

test('a draft leaves out what is secret, at any depth, and keeps the rest', () => {
  const typed = { name: 'shop', http: { url: 'https://shop.example', headers: 'Authorization: Bearer s3cret' } };
  assert.deepEqual(withoutSecretFields(fieldsOf('createMonitor'), typed), { name: 'shop', http: { url: 'https://shop.example' } });
  assert.deepEqual(withoutSecretFields(fieldsOf('setProvider'), { accountSid: 'AC1', authToken: 's3cret' }), { accountSid: 'AC1' });
});

test('“as code” names a secret without its value', () => {
  assert.deepEqual(masked({ host: 'quay.example', username: 'bot', password: 's3cret' }), {
    host: 'quay.example',
    username: 'bot',
    password: '<secret>',
  });
  assert.deepEqual(masked({ http: { url: 'https://shop.example', headers: { Authorization: 's3cret' } } }), {
    http: { url: 'https://shop.example', headers: { Authorization: '<secret>' } },
  });
  assert.deepEqual(masked({ authToken: null, recipients: ['a@b.example'] }), { authToken: null, recipients: ['a@b.example'] });
});

test('each field that takes a credential counts as secret', () => {
  const found = commands.commands.flatMap(({ operation, fields }) =>
    (fields as Field[]).filter(({ name }) => isSecret(name)).map(({ name }) => `${operation} ${name}`),
  );
  for (const field of [
    'acceptInvitation secret',
    'claimDeviceToken deviceCode',
    'exchangeRegistryOidcToken subject_token',
    'setProvider authToken',
    'setRegistryUpstreamCredential password',
  ])
    assert.ok(found.includes(field), field);
  assert.ok(!found.some((field) => /^(send|list|search)/.test(field)), found.join());
});
