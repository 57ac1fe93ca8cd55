import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { access, chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { mailEnv } from '../../src/areas/email/test/mail-scene.ts';
import { type SendingKey, sendingKey } from '../../src/areas/email/test/sending-key.ts';
import { fakeDns } from '../fakes/dns.ts';
import { type Quarterdeck, quarterdeck } from '../harness/index.ts';
import { eventually } from '../harness/process.ts';

// Debian's mail programs, each as a process of the test's own on loopback.

const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` }; // servers are where not everybody looks
const exec = promisify(execFile);

/** Runs a program to its end. */
export const run = (program: string, args: string[]) => exec(program, args, { env });

/** Why a test with these programs cannot run here; false where it can. */
export function lacking(...programs: string[]): string | false {
  const missing = programs.filter((name) => spawnSync('sh', ['-c', 'command -v "$0"', name], { env }).status !== 0);
  return missing.length ? `${missing.join(', ')} is not installed` : false;
}

/** What a program prints, or nothing. */
export const said = (program: string, ...args: string[]) => spawnSync(program, args, { env, encoding: 'utf8' }).stdout ?? '';

export const needsRoot = () => (process.getuid?.() === 0 ? false : 'only root may start this program');

const endings = new WeakMap<TestContext, (() => unknown)[]>();

/** Ends something with the test, before its folders go: programs write until they end. */
export const endFirst = (t: TestContext, end: () => unknown) => endings.set(t, [...(endings.get(t) ?? []), end]);

/** A folder that the users of mail programs may enter. */
export async function openFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'qde-'));
  await chmod(folder, 0o755);
  t.after(async () => {
    for (const end of endings.get(t) ?? []) await end();
    endings.delete(t);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  return folder;
}

/** A program that stays, once something listens at its port. Stopping it stops all that it started; it ends with the test's folder. */
export async function daemon(t: TestContext, port: number, command: string, args: string[]): Promise<{ stop(): Promise<void> }> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, env });
  let told = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (told = (told + text).slice(-4_000)));
  const ended = once(child, 'exit');
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const stop = async () => {
    if (hasEnded()) return;
    process.kill(-child.pid!, 'SIGTERM');
    const late = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), 3_000);
    await ended;
    clearTimeout(late);
  };
  endFirst(t, stop);
  await eventually(async () => hasEnded() || (await answersAt(port)));
  if (hasEnded()) throw new Error(`${command} ended: ${told}`);
  return { stop };
}

const answersAt = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1')
      .on('error', () => resolve(false))
      .on('connect', () => {
        resolve(true);
        socket.destroy();
      });
  });

/** A server that sends to whoever listens at this port as the mail server of far.example. */
export async function sendingTo(
  t: TestContext,
  port: number,
  more: Record<string, string> = {},
): Promise<{ qd: Quarterdeck; key: SendingKey }> {
  const dns = await fakeDns(t, {
    'far.example': { MX: [{ preference: 10, exchange: 'mx.far.example' }] },
    'mx.far.example': { A: ['127.0.0.1'] },
  });
  const qd = await quarterdeck(t, { env: { ...mailEnv(dns, { port }), ...more } });
  return { qd, key: await sendingKey(qd) };
}

export interface DnsRecord {
  type: string;
  name: string;
  value: string;
}

/** What the owner of a domain is told to publish. */
export async function recordsOf({ owner }: Quarterdeck, { domainId }: SendingKey): Promise<DnsRecord[]> {
  const { body } = await owner.get(`/email/domains/${domainId}`);
  return (body as { dnsRecords: DnsRecord[] }).dnsRecords;
}

/** The messages of a maildir, once there are so many. */
export const mailIn = (folder: string, count: number): Promise<string[]> =>
  eventually(async () => {
    const fresh = join(folder, 'new');
    await access(fresh);
    const names = await readdir(fresh);
    return names.length >= count && Promise.all(names.map((name) => readFile(join(fresh, name), 'utf8')));
  });

/** The keys from a file instead of the DNS: opendkim asks no server at a port of its own. */
export async function opendkimSettings(folder: string, records: DnsRecord[], port?: number): Promise<string> {
  const keys = join(folder, 'keys');
  await writeFile(keys, records.map(({ name, value }) => `${name} ${value}\n`).join(''));
  const conf = join(folder, 'opendkim.conf');
  const socket = port ? `Socket inet:${port}@127.0.0.1\n` : '';
  await writeFile(conf, `Mode v\nSyslog no\nAuthservID mx.far.example\nAlwaysAddARHeader yes\nTestPublicKeys ${keys}\n${socket}`);
  return conf;
}
