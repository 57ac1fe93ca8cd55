import type { TestContext } from 'node:test';
import { type FakeDns, fakeDns } from '../../../../../../test/fakes/dns.ts';
import { type Options, type Quarterdeck, quarterdeck, type Someone } from '../../../../../../test/harness/index.ts';
import { email } from '../../../index.ts';
import { verifiedDomain } from '../../../test/sending-key.ts';
import { type Speaker, speakSmtp } from '../../../test/smtp-scene.ts';
import { endpointAt, type Listening, listening } from '../../../webhooks/test/listening.ts';

export interface MxScene {
  qd: Quarterdeck;
  dns: FakeDns;
  /** Hears what arrives at in.example.com. */
  endpoint: Listening;
  endpointId: string;
  secret: string;
  domainId: string;
  routeId: string;
  port: number;
  env: Record<string, string>;
}

export const mxPort = (qd: Quarterdeck): number => qd.own(email).receiving.port!;

/** A server that receives for in.example.com, everything to one endpoint. */
export async function mxScene(t: TestContext, options: Options & { pattern?: string } = {}): Promise<MxScene> {
  const dns = await fakeDns(t);
  const env = {
    QUARTERDECK_DNS_SERVERS: dns.address,
    QUARTERDECK_MAIL_HOST: 'mx.host.example',
    QUARTERDECK_ALLOW_PRIVATE_CIDRS: '127.0.0.0/8',
    ...options.env,
  };
  const qd = await quarterdeck(t, { ...options, env });
  const endpoint = await listening(t);
  const { id: endpointId, secret } = await endpointAt(qd.owner, endpoint.url, 'email.bounced');
  const domainId = await armedDomain(qd, qd.owner, 'in.example.com');
  const routeId = await route(qd.owner, domainId, options.pattern ?? '*', endpointId);
  return { qd, dns, endpoint, endpointId, secret, domainId, routeId, port: mxPort(qd), env };
}

export async function armedDomain(qd: Quarterdeck, who: Someone, name: string): Promise<string> {
  const id = await verifiedDomain(qd, who, name);
  await who.post(`/email/domains/${id}/receive`);
  return id;
}

export async function route(who: Someone, domainId: string, pattern: string, endpointId: string): Promise<string> {
  const { status, body } = await who.post('/email/routes', { domainId, pattern, endpointId });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.id;
}

export const letterIn = (more = '') =>
  `From: Bob <bob@far.example>\r\nTo: support@in.example.com\r\nSubject: Help\r\nMessage-ID: <1@far.example>\r\n${more}\r\nIt does not work.\r\n`;

export interface Delivering {
  from?: string;
  to?: string[];
  /** With CR LF everywhere; dots are not stuffed. */
  message?: string;
}

/** Says MAIL, RCPT and DATA; the first answer that is a refusal, or the one to the message. */
export async function deliver(
  speaker: Speaker,
  { from = 'bob@far.example', to = ['support@in.example.com'], message = letterIn() }: Delivering = {},
) {
  const { say } = speaker;
  for (const line of [`MAIL FROM:<${from}>`, ...to.map((each) => `RCPT TO:<${each}>`), 'DATA']) {
    const answer = await say(line);
    if (!/^[23]/.test(answer)) return answer;
  }
  return say(`${message}.`);
}

/** One message over a connection of its own; what was answered to it. */
export async function deliverTo(t: TestContext, port: number, delivering?: Delivering): Promise<string> {
  const speaker = await speakSmtp(t, port);
  await speaker.say('EHLO far.example');
  const answer = await deliver(speaker, delivering);
  speaker.socket.destroy();
  return answer;
}

export const idIn = (answer: string): string => /msg_\w+/.exec(answer)?.[0] ?? answer;
