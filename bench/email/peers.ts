import { execFile, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** postfix's own sink: takes everything, and counts. */
export async function startSink(port: number) {
  const child = spawn('smtp-sink', ['-u', 'nobody', '-c', `127.0.0.1:${port}`, '1000'], { stdio: ['ignore', 'pipe', 'inherit'] });
  let taken = 0;
  child.stdout.setEncoding('latin1').on('data', (text: string) => {
    taken = Number([...text.matchAll(/mesg=(\d+)/g)].at(-1)?.[1] ?? taken);
  });
  await sleep(300);
  return { taken: () => taken, stop: () => child.kill() };
}

/** Debian's opendkim, which signs what postfix hands it with a key of 2,048 bits. */
export async function startOpendkim(port: number) {
  const folder = await mkdtemp(join(tmpdir(), 'qd-opendkim-'));
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(join(folder, 'key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const conf = [
    ...['Mode s', 'Syslog no', 'RequireSafeKeys no', 'Canonicalization relaxed/relaxed', 'Domain example.com', 'Selector bench'],
    ...[`KeyFile ${folder}/key.pem`, `Socket inet:${port}@127.0.0.1`, `PidFile ${folder}/pid`],
  ];
  await writeFile(join(folder, 'conf'), `${conf.join('\n')}\n`);
  const child = spawn('opendkim', ['-f', '-x', join(folder, 'conf')], { stdio: 'inherit' });
  await sleep(1_000);
  return {
    milter: `inet:127.0.0.1:${port}`,
    async stop() {
      child.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A postfix of our own, which hands everything to the sink, or keeps it. */
export async function startPostfix(port: number, sinkPort: number, milter = '') {
  const folder = await mkdtemp(join(tmpdir(), 'qd-postfix-'));
  await chmod(folder, 0o755);
  for (const part of ['conf', 'queue', 'data']) await mkdir(join(folder, part));
  await run('chown', ['postfix', join(folder, 'data')]);
  const conf = join(folder, 'conf');
  await writeFile(
    join(conf, 'main.cf'),
    [
      'compatibility_level = 3.6',
      `queue_directory = ${folder}/queue`,
      `data_directory = ${folder}/data`,
      'command_directory = /usr/sbin',
      'daemon_directory = /usr/lib/postfix/sbin',
      'inet_interfaces = 127.0.0.1',
      'inet_protocols = ipv4',
      'disable_dns_lookups = yes',
      'mynetworks = 127.0.0.0/8',
      'mydestination =',
      `relayhost = [127.0.0.1]:${sinkPort}`,
      'smtpd_recipient_restrictions = permit_mynetworks, reject',
      'alias_maps =',
      'maillog_file = /dev/null',
      'maillog_file_prefixes = /dev',
      'smtpd_client_connection_count_limit = 0',
      'default_process_limit = 200',
      `smtpd_milters = ${milter}`,
      '',
    ].join('\n'),
  );
  await writeFile(
    join(conf, 'master.cf'),
    `${port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
relay unix - - n - - smtp
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
`,
  );
  await run('postfix', ['-c', conf, 'start']);
  const set = async (setting: string) => {
    await run('postconf', ['-c', conf, '-e', setting]);
    await run('postfix', ['-c', conf, 'reload']);
    await sleep(500);
  };
  return {
    /** Accepts and sends nothing. */
    hold: () => set('defer_transports = smtp relay'),
    release: () => set('defer_transports ='),
    empty: () => run('postsuper', ['-c', conf, '-d', 'ALL']),
    async stop() {
      await run('postfix', ['-c', conf, 'stop']).catch(() => {});
      await rm(folder, { recursive: true, force: true });
    },
  };
}
