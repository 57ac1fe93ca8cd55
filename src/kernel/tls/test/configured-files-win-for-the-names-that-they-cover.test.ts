import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { SecureContext } from 'node:tls';
import type { Config } from '../../config.ts';
import { makeLog } from '../../log.ts';
import { type Certificate, makeCertificate } from '../../x509/certificate.ts';
import { type CertificateSource, makePresented, type Presenting } from '../index.ts';

const log = makeLog('silent');
const nameOf = ({ cert }: Certificate) => new X509Certificate(cert).subject.replace('CN=', '');

/** Certificates that were ordered for these names. */
function sourceOf(names: string[]) {
  const kept = new Map(names.map((name) => [name, makeCertificate(name)]));
  const listeners: ((name: string) => void)[] = [];
  const source: CertificateSource = {
    has: (name) => kept.has(name),
    find: async (name) => kept.get(name),
    findHttpProof: async () => undefined,
    findTlsProof: async () => undefined,
    onReplaced: (act) => void listeners.push(act),
  };
  const replace = (name: string) => {
    kept.set(name, makeCertificate(name));
    for (const act of listeners) act(name);
    return kept.get(name)!;
  };
  return { source, kept, replace };
}

async function configuredFor(t: TestContext, host: string): Promise<Config> {
  const directory = await mkdtemp(join(tmpdir(), 'qdt-'));
  t.after(() => rm(directory, { recursive: true }));
  const { cert, key } = makeCertificate(host);
  const files = { tls_cert: join(directory, 'cert.pem'), tls_key: join(directory, 'key.pem') };
  await writeFile(files.tls_cert, cert);
  await writeFile(files.tls_key, key);
  return files as Config;
}

const chosen = (presenting: Presenting, name: string) =>
  new Promise<SecureContext | undefined>((resolve, reject) =>
    presenting.chooseByName(name, (error, context) => (error ? reject(error) : resolve(context))),
  );

test('configured files are presented for the names that they cover, and ordered certificates for others', async (t) => {
  const presented = makePresented({ config: await configuredFor(t, 'a.example'), log });
  const { source, kept, replace } = sourceOf(['a.example', 'mail.example']);
  presented.prefer(source);
  const fallback = () => assert.fail('there are better ones');
  const [web, mail, other] = [
    await presented.open('a.example', fallback),
    await presented.open('mail.example', fallback),
    await presented.open('b.example', fallback),
  ];
  t.after(() => [web, mail, other].forEach((each) => void each.stop()));
  assert.deepEqual(
    [web, mail, other].map((each) => nameOf(each.certificate())),
    ['a.example', 'mail.example', 'a.example'],
  );
  assert.notEqual(web.certificate(), kept.get('a.example'));

  assert.equal(await chosen(web, 'A.example'), web.context());
  const configured = await chosen(mail, 'a.example');
  assert.ok(configured && configured !== mail.context(), 'the files, though its own host has another');
  assert.equal(await chosen(web, 'mail.example'), mail.context());
  assert.equal(await chosen(web, 'unknown.example'), undefined);

  // A renewal reaches the listeners that present it, and no others.
  const heard: string[] = [];
  for (const each of [web, mail, other]) each.onRenewed((certificate) => void heard.push(nameOf(certificate)));
  replace('a.example');
  const renewed = replace('mail.example');
  await new Promise(setImmediate);
  assert.deepEqual(heard, ['mail.example']);
  assert.equal(mail.certificate(), renewed);
  assert.equal(await chosen(web, 'mail.example'), mail.context());
});

test('without files and before the first order, a listener presents what it makes itself, and keeps it when others fail', async (t) => {
  const presented = makePresented({ config: { tls_cert: '', tls_key: '' } as Config, log });
  const own = makeCertificate('a.example');
  const presenting = await presented.open('a.example', () => own);
  t.after(() => presenting.stop());
  assert.equal(presenting.certificate(), own);
  assert.equal(await chosen(presenting, 'a.example'), undefined);

  const { source, kept, replace } = sourceOf([]);
  presented.prefer(source);
  const first = replace('a.example');
  await new Promise(setImmediate);
  assert.equal(presenting.certificate(), first);
  source.find = async () => ({ cert: 'nothing', key: 'nothing' });
  replace('a.example');
  await new Promise(setImmediate);
  assert.equal(presenting.certificate(), first, 'one that cannot be used changes nothing');
  assert.ok(kept.has('a.example'));
  assert.equal(await chosen(presenting, 'a.example'), undefined, 'one that cannot be used is not presented');
  source.find = () => Promise.reject(new Error('the database is away'));
  assert.equal(await chosen(presenting, 'a.example'), undefined);
  assert.equal(presenting.certificate(), first);
});
