import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { authority } from '../../src/kernel/guard/test/certificates.ts';
import { freePort } from '../harness/free-port.ts';
import { daemon, endFirst, lacking, needsRoot, openFolder, run } from './email-support.ts';

// Mail servers of far.example: good@ and grey@ have mailboxes there, nobody else has, and grey@ is greylisted until `welcome`.
// With `reportsTo`, mail for late@ is taken and comes back afterwards: reports go to the server at that port. With `lateTo` it is passed on to the
// server at that port first, whose refusal is what is reported.

export interface MailServer {
  port: number;
  /** A maildir with what they took. */
  mail: string;
  /** No more greylisting. */
  welcome(): Promise<void>;
}

const greylisted = 'greylisted, please come back later';
const { cert, key } = authority('Mail Servers').issue(['mx.far.example']);

/** A place for a server's files, with a certificate whose key has this mode. */
async function serverFolder(t: TestContext, keyMode: number) {
  const folder = await openFolder(t);
  for (const part of ['mail', 'spool', 'log']) {
    await mkdir(join(folder, part));
    await chmod(join(folder, part), 0o1777);
  }
  await writeFile(join(folder, 'cert.pem'), cert);
  await writeFile(join(folder, 'key.pem'), key, { mode: keyMode });
  return { folder, mail: join(folder, 'mail') };
}

export const withoutPostfix = () => lacking('postfix') || needsRoot();

/** postfix with a policy service, as greylisting is done with it. */
export async function startPostfix(t: TestContext, milter?: number, reportsTo?: number, lateTo?: number): Promise<MailServer> {
  const { folder, mail } = await serverFolder(t, 0o600);
  const port = await freePort();
  const policy = await policyService(t);
  for (const part of ['conf', 'data']) await mkdir(join(folder, part));
  await run('chown', ['postfix', join(folder, 'data')]);
  await writeFile(join(folder, 'mailboxes'), 'good@far.example ./\ngrey@far.example ./\n');
  await writeFile(join(folder, 'aliases'), `late@far.example gone@${lateTo === undefined ? 'far' : 'further'}.example\n`);
  const ways = { 'bounce.example.com': reportsTo, 'further.example': lateTo };
  const transports = Object.entries(ways).flatMap(([name, to]) => (to === undefined ? [] : [`${name} smtp:[127.0.0.1]:${to}\n`]));
  await writeFile(join(folder, 'transports'), transports.join(''));
  await writeFile(join(folder, 'conf', 'main.cf'), postfixSettings(folder, policy.port, milter).join('\n'));
  await writeFile(join(folder, 'conf', 'master.cf'), postfixServices(port));
  const conf = join(folder, 'conf');
  await run('postfix', ['-c', conf, 'start']);
  endFirst(t, () => run('postfix', ['-c', conf, 'stop']));
  return {
    port,
    mail,
    welcome: async () => {
      policy.action = 'DUNNO';
    },
  };
}

const postfixSettings = (folder: string, policyPort: number, milter: number | undefined) => [
  'compatibility_level = 3.6',
  `queue_directory = ${folder}/spool`,
  `data_directory = ${folder}/data`,
  'command_directory = /usr/sbin',
  'daemon_directory = /usr/lib/postfix/sbin',
  'inet_interfaces = 127.0.0.1',
  'inet_protocols = ipv4',
  'disable_dns_lookups = yes',
  'myhostname = mx.far.example',
  'mydestination =',
  'mynetworks =',
  'alias_maps =',
  'virtual_mailbox_domains = far.example',
  `virtual_mailbox_maps = texthash:${folder}/mailboxes`,
  `virtual_mailbox_base = ${folder}/mail`,
  `virtual_alias_maps = texthash:${folder}/aliases`,
  `transport_maps = texthash:${folder}/transports`,
  'virtual_uid_maps = static:65534',
  'virtual_gid_maps = static:65534',
  `smtpd_recipient_restrictions = reject_unauth_destination, check_policy_service inet:127.0.0.1:${policyPort}`,
  'smtpd_tls_security_level = may',
  `smtpd_tls_cert_file = ${folder}/cert.pem`,
  `smtpd_tls_key_file = ${folder}/key.pem`,
  'maillog_file = /dev/null',
  'maillog_file_prefixes = /dev',
  ...(milter ? [`smtpd_milters = inet:127.0.0.1:${milter}`] : []),
  '',
];

const postfixServices = (port: number) => `127.0.0.1:${port} inet n - n - - smtpd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
proxymap unix - - n - - proxymap
error unix - - n - - error
smtp unix - - n - - smtp
retry unix - - n - - error
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
`;

/** What postfix asks before it takes mail for somebody (its SMTPD_POLICY_README). */
async function policyService(t: TestContext) {
  const service = { port: 0, action: `DEFER_IF_PERMIT 4.7.1 ${greylisted}` };
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    let heard = '';
    socket.on('error', () => {});
    socket.setEncoding('utf8').on('data', (text) => {
      heard += text;
      for (let end = heard.indexOf('\n\n'); end >= 0; end = heard.indexOf('\n\n')) {
        const isGrey = /^recipient=grey@/m.test(heard.slice(0, end));
        heard = heard.slice(end + 2);
        socket.write(`action=${isGrey ? service.action : 'DUNNO'}\n\n`);
      }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  service.port = (server.address() as AddressInfo).port;
  return service;
}

// exim4 and opensmtpd cannot be installed beside postfix, so their packages are unpacked somewhere: .ci/run does it.
const unpacked = process.env.QUARTERDECK_TEST_MAIL_SERVERS ?? '';
const namespace = join(import.meta.dirname, 'email-peer-namespace.sh');

export const within = (...command: string[]) => ['--mount', 'sh', namespace, unpacked, ...command];

/** Why a server that was unpacked cannot run here. */
function withoutUnpacked(program: string): string | false {
  if (!unpacked) return 'QUARTERDECK_TEST_MAIL_SERVERS does not say where the packages of mail servers were unpacked';
  if (needsRoot()) return needsRoot();
  const tried = spawnSync('unshare', within('test', '-x', `/usr/sbin/${program}`), { encoding: 'utf8' });
  return tried.status === 0 ? false : `${program} cannot run in a namespace here: ${tried.error?.message ?? tried.stderr.trim()}`;
}

export const withoutExim = () => withoutUnpacked('exim4');
export const withoutOpenSmtpd = () => withoutUnpacked('smtpd');

export async function startExim(t: TestContext, reportsTo = 9, lateWords = '550 5.1.1 no such user here, after all'): Promise<MailServer> {
  const { folder, mail } = await serverFolder(t, 0o644);
  const port = await freePort();
  const conf = join(folder, 'exim.conf');
  const closed = join(folder, 'closed');
  await writeFile(closed, '');
  await writeFile(conf, eximSettings(folder, port, closed, reportsTo, lateWords));
  await daemon(t, port, 'unshare', within('exim4', '-C', conf, '-bdf'));
  return { port, mail, welcome: () => rm(closed) };
}

const eximSettings = (
  folder: string,
  port: number,
  closed: string,
  reportsTo: number,
  lateWords: string,
) => `primary_hostname = mx.far.example
spool_directory = ${folder}/spool
log_file_path = ${folder}/log/%slog
pid_file_path =
keep_environment =
daemon_smtp_ports = ${port}
local_interfaces = 127.0.0.1
tls_advertise_hosts = *
tls_certificate = ${folder}/cert.pem
tls_privatekey = ${folder}/key.pem
host_lookup =
rfc1413_query_timeout = 0s
domainlist here = far.example
exim_user = Debian-exim
exim_group = Debian-exim
acl_smtp_rcpt = judge
acl_smtp_data = accept

begin acl
judge:
  deny domains = !+here
       message = relay not permitted
  defer local_parts = grey
        condition = \${if exists{${closed}}}
        message = ${greylisted}
  require verify = recipient
  accept

begin routers
late_at_first:
  driver = accept
  verify_only
  domains = +here
  local_parts = late
late:
  driver = redirect
  domains = +here
  local_parts = late
  no_verify
  allow_fail
  data = :fail: ${lateWords}
reports:
  driver = manualroute
  domains = !+here
  no_verify
  transport = reports
  route_list = * 127.0.0.1 byname
  self = send
mailboxes:
  driver = accept
  domains = +here
  local_parts = good : grey
  transport = maildir

begin transports
reports:
  driver = smtp
  port = ${reportsTo}
  allow_localhost
  hosts_avoid_tls = *
maildir:
  driver = appendfile
  maildir_format
  directory = ${folder}/mail
  create_directory
  user = Debian-exim
  group = Debian-exim
`;

export async function startOpenSmtpd(t: TestContext, reportsTo = 9, lateTo?: number): Promise<MailServer> {
  const { folder, mail } = await serverFolder(t, 0o600);
  const port = await freePort();
  const conf = join(folder, 'smtpd.conf');
  const start = async (isGrey: boolean) => {
    await writeFile(conf, openSmtpdSettings(folder, port, isGrey, { reportsTo, lateTo }));
    return daemon(t, port, 'unshare', within('smtpd', '-d', '-f', conf));
  };
  const first = await start(true);
  return {
    port,
    mail,
    // It reads its filters once, so it starts again.
    welcome: async () => {
      await first.stop();
      await start(false);
    },
  };
}

const openSmtpdSettings = (
  folder: string,
  port: number,
  isGrey: boolean,
  { reportsTo, lateTo }: { reportsTo: number; lateTo: number | undefined },
) => `table users { good@far.example = nobody, grey@far.example = nobody, late@far.example = nobody }
pki mx.far.example cert "${folder}/cert.pem"
pki mx.far.example key "${folder}/key.pem"
filter grey phase rcpt-to match rcpt-to { grey@far.example } reject "451 4.7.1 ${greylisted}"
listen on 127.0.0.1 port ${port} hostname mx.far.example tls pki mx.far.example ${isGrey ? 'filter grey' : ''}
action keep maildir "${folder}/mail" virtual <users>
action late ${lateTo === undefined ? 'mda "exit 67" virtual <users>' : `relay host "smtp://127.0.0.1:${lateTo}"`}
action back relay host "smtp://127.0.0.1:${reportsTo}"
match from any for rcpt-to late@far.example action late
match from any for domain far.example action keep
match from local for any action back
`;
