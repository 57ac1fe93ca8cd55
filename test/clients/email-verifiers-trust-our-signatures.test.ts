import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { authenticate } from 'mailauth';
import { letter, mailScene, untilState } from '../../src/areas/email/test/mail-scene.ts';
import { freePort } from '../harness/free-port.ts';
import { startPostfix, withoutPostfix } from './email-mail-servers.ts';
import { type DnsRecord, daemon, lacking, mailIn, openFolder, recordsOf, run, sendingTo } from './email-support.ts';

const python = '/usr/bin/python3'; // Debian's, which has Debian's modules
const withoutPythonDkim = spawnSync(python, ['-c', 'import dkim, nacl']).status === 0 ? false : 'python3-dkim is not installed';

/** Judges each signature of a message on its own, with keys from a file of records. */
const verifyInPython = `
import dkim, json, sys
records = {r['name'] + '.': r['value'].encode() for r in json.load(open(sys.argv[1])) if r['type'] == 'TXT'}
message = open(sys.argv[2], 'rb').read()
for at in range(message.lower().count(b'dkim-signature:')):
    judge = dkim.DKIM(message)
    verdict = judge.verify(idx=at, dnsfunc=lambda name, timeout=5: records.get(name.decode() if isinstance(name, bytes) else name))
    print(judge.signature_fields[b'a'].decode(), judge.domain.decode(), 'pass' if verdict else 'fail')
`;

const letters = {
  plain: letter(),
  'both texts and a file': letter({
    subject: 'Grüße aus Köln, mit einem Betreff, der viel länger ist, als eine Zeile einer Kopfzeile es sein darf',
    text: 'Zeile eins  \n\n.\n..\nFrom the start\n\n\n',
    html: `<p>${'lange Zeile '.repeat(200)}</p>`,
    attachments: [{ filename: 'a.bin', content: Buffer.alloc(50_000, 7).toString('base64'), contentType: 'application/octet-stream' }],
  }),
  'headers of its own': letter({
    replyTo: ['Carl <carl@example.com>'],
    headers: { 'X-Order': '7', 'List-Unsubscribe': '<https://example.com/u>' },
  }),
};

test('opendkim, python3-dkim and mailauth trust both signatures', async (t) => {
  const { qd, key, sink } = await mailScene(t);
  const folder = await openFolder(t);
  const records = await recordsOf(qd, key);
  const files: Record<string, string> = {};
  for (const [name, body] of Object.entries(letters)) {
    const { status, body: answer } = await key.post('/email/send', body);
    assert.equal(status, 202, JSON.stringify(answer));
    await untilState(qd, (answer as { id: string }).id, 'delivered');
    files[name] = join(folder, `${Object.keys(files).length}.eml`);
    await writeFile(files[name]!, sink.messages.at(-1)!.data);
    await writeFile(
      `${files[name]!}.altered`,
      sink.messages.at(-1)!.data.toString('latin1').replace('Subject: ', 'Subject: not '),
      'latin1',
    );
  }

  await t.test('python3-dkim', { skip: withoutPythonDkim }, async () => {
    await writeFile(join(folder, 'records.json'), JSON.stringify(records));
    const judge = async (file: string) =>
      (await run(python, ['-c', verifyInPython, join(folder, 'records.json'), file])).stdout.trim().split('\n').sort();
    for (const [name, file] of Object.entries(files)) {
      assert.deepEqual(await judge(file), ['ed25519-sha256 example.com pass', 'rsa-sha256 example.com pass'], name);
      assert.deepEqual(await judge(`${file}.altered`), ['ed25519-sha256 example.com fail', 'rsa-sha256 example.com fail'], name);
    }
  });

  await t.test('mailauth', async () => {
    for (const [at, name] of Object.keys(files).entries()) {
      const { data, from } = sink.messages[at]!;
      const { dkim } = await authenticate(data, {
        ip: '127.0.0.1',
        helo: 'mx.host.example',
        sender: from,
        resolver: resolverOf(records),
      } as never);
      const judged = (dkim as { results: { status: { result: string } }[] }).results.map(({ status }) => status.result);
      assert.deepEqual(judged, ['pass', 'pass'], name);
    }
  });

  await t.test('opendkim', { skip: lacking('opendkim') }, async () => {
    const conf = await opendkimSettings(folder, records);
    for (const [name, file] of Object.entries(files)) {
      const judge = async (what: string) => Object.values(await run('opendkim', ['-x', conf, '-t', what])).join('');
      assert.match(await judge(file), /verification \(s=\w+, d=example\.com, 2048-bit key\) succeeded/, name);
      assert.match(await judge(`${file}.altered`), /failed: signature verification failed/, name);
    }
  });
});

/** The keys from a file instead of the DNS: opendkim asks no server at a port of its own. */
async function opendkimSettings(folder: string, records: DnsRecord[], port?: number): Promise<string> {
  const keys = join(folder, 'keys');
  await writeFile(keys, records.map(({ name, value }) => `${name} ${value}\n`).join(''));
  const conf = join(folder, 'opendkim.conf');
  const socket = port ? `Socket inet:${port}@127.0.0.1\n` : '';
  await writeFile(conf, `Mode v\nSyslog no\nAuthservID mx.far.example\nAlwaysAddARHeader yes\nTestPublicKeys ${keys}\n${socket}`);
  return conf;
}

const resolverOf = (records: DnsRecord[]) => async (name: string, type: string) => {
  const wanted = records.filter((r) => r.name === name && r.type === type);
  if (wanted.length === 0) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
  return wanted.map((r) => [r.value]);
};

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
  const { stdout: version } = await run('opendkim', ['-V']);
  if (/ed25519-sha256/.test(version)) assert.match(told, /dkim=pass header\.d=example\.com [^;]* header\.a=ed25519-sha256 /);
});
