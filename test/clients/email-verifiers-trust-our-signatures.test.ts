import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { authenticate } from 'mailauth';
import { letter, mailScene, untilState } from '../../src/areas/email/test/mail-scene.ts';
import { type DnsRecord, lacking, opendkimSettings, openFolder, recordsOf, run } from './email-support.ts';

const python = '/usr/bin/python3'; // Debian's, which has Debian's modules
const withoutPythonDkim = spawnSync(python, ['-c', 'import dkim, nacl']).status === 0 ? false : 'python3-dkim is not installed';

/** Judges each signature of each message on its own, with keys from a file of records. */
const verifyInPython = `
import dkim, json, sys
records = {r['name'] + '.': r['value'].encode() for r in json.load(open(sys.argv[1])) if r['type'] == 'TXT'}
for name in sys.argv[2:]:
    message = open(name, 'rb').read()
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
    const whole = sink.messages.at(-1)!.data.toString('latin1');
    await writeFile(`${files[name]!}.altered`, whole.replace('Subject: ', 'Subject: not '), 'latin1');
    // Readers differ in which of two they show.
    await writeFile(`${files[name]!}.added`, `Reply-To: mallory@far.example\r\n${whole}`, 'latin1');
  }

  await t.test('python3-dkim', { skip: withoutPythonDkim }, async () => {
    await writeFile(join(folder, 'records.json'), JSON.stringify(records));
    const judge = async (whole: string[]) => (await run(python, ['-c', verifyInPython, join(folder, 'records.json'), ...whole])).stdout;
    const all = Object.values(files);
    const each = (verdict: string) => all.map(() => `rsa-sha256 example.com ${verdict}\ned25519-sha256 example.com ${verdict}\n`).join('');
    assert.equal(await judge(all), each('pass'));
    for (const how of ['altered', 'added']) assert.equal(await judge(all.map((file) => `${file}.${how}`)), each('fail'), how);
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
      for (const how of ['altered', 'added'])
        assert.match(await judge(`${file}.${how}`), /failed: signature verification failed/, `${name}, ${how}`);
    }
  });
});

const resolverOf = (records: DnsRecord[]) => async (name: string, type: string) => {
  const wanted = records.filter((r) => r.name === name && r.type === type);
  if (wanted.length === 0) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
  return wanted.map((r) => [r.value]);
};
