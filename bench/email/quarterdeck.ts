import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fakeDns } from '../../test/fakes/dns.ts';
import { freePort } from '../../test/harness/free-port.ts';
import { startServer } from '../../test/harness/process.ts';
import { memoryFlags } from '../../test/harness/quick-start.ts';
import { readCpu } from './cpu.ts';

const metricsToken = 'bench';

interface Wanted {
  sinkPort: number;
  roles: string;
  keys: number;
  nodeFlags?: string[];
  /** Everything that arrives at the domain goes to an endpoint. */
  receives?: boolean;
  env?: Record<string, string>;
  /** Started anew once it is set up, also in the same roles. */
  isFresh?: boolean;
  /** Of another version, installed; this one by default. */
  checkout?: string | undefined;
}

/** The whole program, with a verified domain and as many send keys as there are sessions; `roles` is what runs while it is measured. */
export async function startOurs(
  context: TestContext,
  { sinkPort, roles, keys, nodeFlags = [], receives = false, env: more = {}, isFresh = false, checkout }: Wanted,
) {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'qd-bench-')));
  await chmod(dir, 0o755);
  const dns = await fakeDns(context, {
    'far.example': { MX: [{ preference: 10, exchange: 'mx.far.example' }] },
    'mx.far.example': { A: ['127.0.0.1'] },
  });
  const [submission, smtps, inbound] = [await freePort(), await freePort(), await freePort()];
  const env = {
    QUARTERDECK_DNS_SERVERS: dns.address,
    QUARTERDECK_MAIL_HOST: 'mx.host.example',
    QUARTERDECK_ALLOW_PRIVATE_CIDRS: '127.0.0.0/8',
    QUARTERDECK_SMTP_OUT_PORT: String(sinkPort),
    QUARTERDECK_SMTP_SUBMISSION: `127.0.0.1:${submission}`,
    QUARTERDECK_SMTPS: `127.0.0.1:${smtps}`,
    QUARTERDECK_SMTP_INBOUND: `127.0.0.1:${inbound}`,
    QUARTERDECK_SMTP_INBOUND_RATE: '0',
    QUARTERDECK_METRICS_TOKEN: metricsToken,
    QUARTERDECK_EMAIL_DAILY_QUOTA: '100000000',
    QUARTERDECK_SMTP_RATE: '100000',
    QUARTERDECK_LOG_LEVEL: 'error',
    ...more,
  };
  const begin = (which: string) =>
    startServer({
      dir,
      nodeFlags: [...memoryFlags, ...nodeFlags],
      env: { ...env, QUARTERDECK_ROLES: which },
      ...(checkout && { checkout }),
    });
  let { server, end } = begin('api,worker,smtp');
  await server.ready;
  const owner = await server.owner();
  const { body: domain } = await owner.post('/email/domains', { name: 'example.com' });
  for (const { type, name, value, priority } of domain.dnsRecords) {
    const at = typeof dns.zone[name] === 'object' ? dns.zone[name] : {};
    dns.zone[name] = { ...at, [type]: [type === 'MX' ? { preference: priority, exchange: value } : value] };
  }
  await owner.post(`/email/domains/${domain.id}/check`, {});
  for (let tries = 0; (await owner.get(`/email/domains/${domain.id}`)).body.sendState !== 'verified'; tries++) {
    if (tries > 300) throw new Error('the domain was not verified');
    await sleep(100);
  }
  const logins: string[] = [];
  for (let i = 0; i < keys; i++) {
    const { body } = await owner.post('/email/keys', { name: `bench ${i}` });
    logins.push(body.sendKey.keyId, body.secret);
  }
  if (receives) {
    const { body } = await owner.post('/email/webhooks', { url: 'http://127.0.0.1:9/', eventTypes: ['email.received'] });
    await owner.post(`/email/domains/${domain.id}/receive`);
    await owner.post('/email/routes', { domainId: domain.id, pattern: '*', endpointId: body.webhook.id });
    Object.assign(dns.manner, { ttl: 300, absentTtl: 300 }); // as the world has it: what was asked for once is remembered
  }
  if (isFresh || roles !== 'api,worker,smtp') {
    await end();
    ({ server, end } = begin(roles));
    await server.ready;
  }
  return {
    port: submission,
    inbound,
    /** How many messages were read, judged and told so far. */
    async told(): Promise<number> {
      const answer = await fetch(`${await server.ready}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } });
      return Number(/^quarterdeck_email_arrivals_total\{outcome="told"\} (\d+)/m.exec(await answer.text())?.[1] ?? 0);
    },
    pid: () => server.pid,
    /** Its directory, in which its PostgreSQL is found too. */
    dataDir: join(dir, 'data'),
    zone: dns.zone,
    domainId: domain.id as string,
    owner: () => server.owner(),
    url: () => server.ready,
    /** CPU seconds of the program and of its PostgreSQL so far. */
    cpu: () => readCpu(server.pid!, join(dir, 'data')),
    logins,
    async stop() {
      await end();
      await rm(dir, { recursive: true, force: true, maxRetries: 10 }); // its PostgreSQL ends a moment later
    },
  };
}
