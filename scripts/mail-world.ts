// A small world for trying email without the real one: a DNS and a mail server on loopback. Whatever a domain here should publish, it publishes.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fakeDns } from '../test/fakes/dns.ts';
import { smtpSink } from '../test/fakes/smtp-sink.ts';
import { caller } from '../test/harness/request.ts';

const never = { after: () => {} } as unknown as TestContext;
const sink = await smtpSink(never);
const dns = await fakeDns(never, {
  'far.example': { MX: [{ preference: 10, exchange: 'mx.far.example' }] },
  'mx.far.example': { A: ['127.0.0.1'] },
});
const url = process.env.QUARTERDECK_URL ?? 'http://127.0.0.1:8080';
const data = process.env.QUARTERDECK_DATA ?? 'data';
console.log(`Everybody at far.example has a mail server now. Start Quarterdeck beside it:

QUARTERDECK_DNS_SERVERS=${dns.address} QUARTERDECK_SMTP_OUT_PORT=${sink.port} QUARTERDECK_MAIL_HOST=mx.host.example \\
  QUARTERDECK_ALLOW_PRIVATE_CIDRS=127.0.0.0/8 npm start
`);

let shown = 0;
for (;;) {
  await sleep(1_000);
  for (; shown < sink.messages.length; shown++) {
    const { from, to, data: bytes } = sink.messages[shown]!;
    console.log(`taken: ${bytes.length} bytes for ${to.join(', ')}, to be returned to ${from}`);
  }
  const key = await readFile(join(data, 'owner.token'), 'utf8').catch(() => '');
  const { body } = await caller(url, key.trim())
    .get('/email/domains')
    .catch(() => ({ body: undefined }));
  for (const { dnsRecords } of body?.domains ?? []) {
    for (const { type, name, value, priority } of dnsRecords) {
      const known = typeof dns.zone[name] === 'object' ? dns.zone[name] : {};
      if (!known[type]) console.log(`published: ${type} ${name}`);
      dns.zone[name] = { ...known, [type]: [type === 'MX' ? { preference: priority, exchange: value } : value] };
    }
  }
}
