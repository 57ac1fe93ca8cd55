import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type FakeDns, fakeDns } from '../../../../test/fakes/dns.ts';
import { type SinkManner, type SmtpSink, smtpSink } from '../../../../test/fakes/smtp-sink.ts';
import { type Options, type Quarterdeck, quarterdeck } from '../../../../test/harness/index.ts';
import { type SendingKey, sendingKey } from './sending-key.ts';

export interface MailScene {
  qd: Quarterdeck;
  dns: FakeDns;
  /** The mail server of far.example. */
  sink: SmtpSink;
  /** Sends as example.com. */
  key: SendingKey;
  env: Record<string, string>;
}

/** For a server in a process of its own. */
export const withoutOthers = ['--import', import.meta.resolve('./without-others.ts')];

export const mailEnv = (dns: Pick<FakeDns, 'address'>, sink: Pick<SmtpSink, 'port'>): Record<string, string> => ({
  QUARTERDECK_DNS_SERVERS: dns.address,
  QUARTERDECK_MAIL_HOST: 'mx.host.example',
  QUARTERDECK_ALLOW_PRIVATE_CIDRS: '127.0.0.0/8',
  QUARTERDECK_SMTP_OUT_PORT: String(sink.port),
});

/** A server that sends, a DNS, and a mail server that takes. */
export async function mailScene(t: TestContext, manner: SinkManner = {}, options: Options = {}): Promise<MailScene> {
  const sink = await smtpSink(t, manner);
  const dns = await fakeDns(t, {
    'far.example': { MX: [{ preference: 10, exchange: 'mx.far.example' }] },
    'mx.far.example': { A: ['127.0.0.1'] },
  });
  const env = { ...mailEnv(dns, sink), ...options.env };
  const qd = await quarterdeck(t, { ...options, env });
  return { qd, dns, sink, key: await sendingKey(qd), env };
}

export const letter = (more: Record<string, unknown> = {}) => ({
  from: 'Ada <ada@example.com>',
  to: ['bob@far.example'],
  subject: 'Hello',
  text: 'Hello Bob.\n',
  ...more,
});

export interface LoggedMessage {
  state: string;
  lastError?: string;
  sentAt?: string;
  [name: string]: unknown;
}
export interface Logged {
  message: LoggedMessage;
  events: { kind: string; recipient?: string; bounceType?: string; detail?: Record<string, unknown> }[];
  deferrals: { recipient?: string; detail?: Record<string, unknown> }[];
  recipients: { address: string; state: string; deferrals: number; lastError?: string; nextAttemptAt?: string }[];
}

/** The message once the log says so. */
export async function untilState({ owner }: Quarterdeck, id: string, ...states: string[]): Promise<Logged> {
  for (let tries = 0; ; tries++) {
    const { body } = await owner.get(`/email/messages/${id}`);
    if (states.includes((body as Logged).message?.state)) return body as Logged;
    if (tries > 400) throw new Error(`${id} did not become ${states.join(' or ')}: ${JSON.stringify(body)}`);
    await sleep(25);
  }
}
