import assert from 'node:assert/strict';
import { test } from 'node:test';
import { letter } from '../../src/areas/email/test/mail-scene.ts';
import { freePort } from '../harness/free-port.ts';
import { startPostfix, withoutPostfix } from './email-mail-servers.ts';
import { daemon, lacking, mailIn, opendkimSettings, openFolder, recordsOf, said, sendingTo } from './email-support.ts';

test('opendkim as the filter of postfix says so in what is delivered', { skip: lacking('opendkim') || withoutPostfix() }, async (t) => {
  const port = await freePort();
  const server = await startPostfix(t, port);
  const { qd, key } = await sendingTo(t, server.port);
  const conf = await opendkimSettings(await openFolder(t), await recordsOf(qd, key), port);
  await daemon(t, port, 'opendkim', ['-f', '-x', conf]);
  await key.post('/email/send', letter({ to: ['good@far.example'] }));
  const [mail] = await mailIn(server.mail, 1);
  const told = /^Authentication-Results: mx\.far\.example;(?:[^\n]*\n)(?:[ \t][^\n]*\n)*/m.exec(mail!)?.[0] ?? '';
  assert.match(told, /dkim=pass \(2048-bit key\) header\.d=example\.com [^;]* header\.a=rsa-sha256 /);
  if (/ed25519-sha256/.test(said('opendkim', '-V'))) assert.match(told, /dkim=pass header\.d=example\.com [^;]* header\.a=ed25519-sha256 /);
});
