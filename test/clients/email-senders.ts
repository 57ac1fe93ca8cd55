import { generateKeyPairSync } from 'node:crypto';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { freePort } from '../harness/free-port.ts';
import { within } from './email-mail-servers.ts';
import { daemon, endFirst, openFolder, run } from './email-support.ts';

// Mail servers of far.example as senders: they take what is handed to them here, and deliver all of it to one port, under TLS.

/** knot as the name server of far.example, which sends from this machine and signs. */
export async function startZone(t: TestContext, records: string[]): Promise<{ address: string }> {
  const folder = await openFolder(t);
  const port = await freePort();
  const zone = ['@ 60 SOA ns root 1 3600 600 86400 60', '@ 60 NS ns', 'ns 60 A 127.0.0.1', ...records, ''];
  await writeFile(join(folder, 'far.example.zone'), `$ORIGIN far.example.\n${zone.join('\n')}`);
  const conf = join(folder, 'knot.conf');
  await writeFile(
    conf,
    `server:\n  listen: 127.0.0.1@${port}\n  rundir: ${folder}\ndatabase:\n  storage: ${folder}\nzone:\n  - domain: far.example\n    storage: ${folder}\n    file: far.example.zone\n    zonefile-sync: -1\n    journal-content: none\n`,
  );
  await daemon(t, port, 'knotd', ['-c', conf]);
  return { address: `127.0.0.1:${port}` };
}

/** opendkim as a filter that signs for far.example, and the record that its key is published by. */
export async function startSigner(t: TestContext): Promise<{ port: number; record: string }> {
  const folder = await openFolder(t);
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const key = join(folder, 'key.pem');
  await writeFile(key, privateKey.export({ format: 'pem', type: 'pkcs1' }), { mode: 0o600 });
  const port = await freePort();
  const conf = join(folder, 'opendkim.conf');
  await writeFile(
    conf,
    `Mode s\nSyslog no\nRequireSafeKeys no\nDomain far.example\nSelector s\nKeyFile ${key}\nInternalHosts 127.0.0.1\nSocket inet:${port}@127.0.0.1\n`,
  );
  await daemon(t, port, 'opendkim', ['-f', '-x', conf]);
  const text = publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
  return { port, record: `s._domainkey 60 TXT "v=DKIM1; k=rsa; p=${text.slice(0, 200)}" "${text.slice(200)}"` };
}

async function senderFolder(t: TestContext): Promise<string> {
  const folder = await openFolder(t);
  for (const part of ['spool', 'log']) {
    await mkdir(join(folder, part));
    await chmod(join(folder, part), 0o1777);
  }
  return folder;
}

/** Where mail is handed to it. */
export async function startSendingPostfix(t: TestContext, to: number, milter: number): Promise<number> {
  const folder = await senderFolder(t);
  const port = await freePort();
  for (const part of ['conf', 'data']) await mkdir(join(folder, part));
  await run('chown', ['postfix', join(folder, 'data')]);
  const conf = join(folder, 'conf');
  const settings = [
    ...['compatibility_level = 3.6', `queue_directory = ${folder}/spool`, `data_directory = ${folder}/data`],
    ...[
      'command_directory = /usr/sbin',
      'daemon_directory = /usr/lib/postfix/sbin',
      'inet_interfaces = 127.0.0.1',
      'inet_protocols = ipv4',
    ],
    ...['disable_dns_lookups = yes', 'myhostname = mx.far.example', 'mydestination =', 'mynetworks = 127.0.0.0/8', 'alias_maps ='],
    ...[`relayhost = [127.0.0.1]:${to}`, 'smtp_tls_security_level = encrypt', `smtpd_milters = inet:127.0.0.1:${milter}`],
    ...['smtpd_recipient_restrictions = permit_mynetworks, reject', 'maillog_file = /dev/null', 'maillog_file_prefixes = /dev', ''],
  ];
  await writeFile(join(conf, 'main.cf'), settings.join('\n'));
  const services = ['cleanup unix n - n - 0 cleanup', 'qmgr unix n - n 300 1 qmgr', 'tlsmgr unix - - n 1000? 1 tlsmgr'];
  const more = ['rewrite unix - - n - - trivial-rewrite', 'bounce unix - - n - 0 bounce', 'defer unix - - n - 0 bounce'];
  const rest = [
    'trace unix - - n - 0 bounce',
    'proxymap unix - - n - - proxymap',
    'error unix - - n - - error',
    'retry unix - - n - - error',
  ];
  const last = [
    'smtp unix - - n - - smtp',
    'anvil unix - - n - 1 anvil',
    'scache unix - - n - 1 scache',
    'postlog unix-dgram n - n - 1 postlogd',
  ];
  await writeFile(
    join(conf, 'master.cf'),
    [`127.0.0.1:${port} inet n - n - - smtpd`, ...services, ...more, ...rest, ...last, ''].join('\n'),
  );
  await run('postfix', ['-c', conf, 'start']);
  endFirst(t, () => run('postfix', ['-c', conf, 'stop']));
  return port;
}

export async function startSendingExim(t: TestContext, to: number): Promise<number> {
  const folder = await senderFolder(t);
  const port = await freePort();
  const conf = join(folder, 'exim.conf');
  await writeFile(
    conf,
    `primary_hostname = mx.far.example
spool_directory = ${folder}/spool
log_file_path = ${folder}/log/%slog
pid_file_path =
keep_environment =
daemon_smtp_ports = ${port}
local_interfaces = 127.0.0.1
host_lookup =
rfc1413_query_timeout = 0s
exim_user = Debian-exim
exim_group = Debian-exim
acl_smtp_rcpt = accept
acl_smtp_data = accept

begin routers
away:
  driver = manualroute
  route_list = * 127.0.0.1 byname
  self = send
  transport = away

begin transports
away:
  driver = smtp
  port = ${to}
  allow_localhost
  hosts_require_tls = *
  tls_verify_certificates =
`,
  );
  await daemon(t, port, 'unshare', within('exim4', '-C', conf, '-bdf', '-q1m'));
  return port;
}
