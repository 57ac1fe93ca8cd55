import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Quarterdeck, Someone } from '../../../../../test/harness/index.ts';
import { sql } from '../../../../kernel/sql.ts';

export interface ReceivedRequest {
  path: string;
  id: string;
  timestamp: string;
  signature: string;
  body: string;
  // biome-ignore lint/suspicious/noExplicitAny: a payload
  event: any;
}

export interface Listening {
  url: string;
  told: ReceivedRequest[];
  /** How it answers; 204 by default. */
  answer: (response: ServerResponse, told: ReceivedRequest) => void;
  /** Resolves once this many requests arrived. */
  heard(count: number): Promise<ReceivedRequest[]>;
}

/** An endpoint of a user's, by real HTTP. */
export async function listening(t: TestContext): Promise<Listening> {
  const told: ReceivedRequest[] = [];
  const endpoint: Listening = {
    url: '',
    told,
    answer: (response) => response.writeHead(204).end(),
    async heard(count) {
      for (let tries = 0; told.length < count; tries++) {
        if (tries > 400) throw new Error(`heard ${told.length} of ${count}: ${told.map((one) => one.event.type)}`);
        await sleep(25);
      }
      return told;
    },
  };
  const server = createServer(async (request, response) => {
    const one = await readTold(request);
    told.push(one);
    endpoint.answer(response, one);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  endpoint.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  return endpoint;
}

async function readTold(request: IncomingMessage): Promise<ReceivedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString();
  const header = (name: string) => String(request.headers[name]);
  return {
    path: `${request.method} ${request.url}`,
    id: header('webhook-id'),
    timestamp: header('webhook-timestamp'),
    signature: header('webhook-signature'),
    body,
    event: JSON.parse(body),
  };
}

/** As a receiver would, by the text of Standard Webhooks 1.0. */
export function isSigned({ id, timestamp, signature, body }: ReceivedRequest, secret: string): boolean {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const wanted = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest();
  const [version, value, ...more] = signature.split(',');
  const given = Buffer.from(value ?? '', 'base64');
  return key.length === 32 && version === 'v1' && more.length === 0 && given.length === wanted.length && timingSafeEqual(given, wanted);
}

export async function endpointAt(who: Someone, url: string, ...eventTypes: string[]): Promise<{ id: string; secret: string }> {
  const { status, body } = await who.post('/email/webhooks', { url, eventTypes });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return { id: body.webhook.id, secret: body.signingSecret };
}

export interface DeliveryView {
  id: number;
  endpointId: string;
  eventType: string;
  messageId?: string;
  state: string;
  attempts: number;
  lastStatus?: number;
  lastError?: string;
  deliveredAt?: string;
  createdAt: string;
}

export const deliveriesOf = async (who: Someone, query = ''): Promise<DeliveryView[]> =>
  (await who.get(`/email/webhook-deliveries${query}`)).body.deliveries;

/** The newest delivery once it is as wanted. */
export async function untilDelivery(who: Someone, wanted: (delivery: DeliveryView) => boolean, query = ''): Promise<DeliveryView> {
  for (let tries = 0; ; tries++) {
    const [newest] = await deliveriesOf(who, query);
    if (newest && wanted(newest)) return newest;
    if (tries > 400) throw new Error(`the delivery is ${JSON.stringify(newest)}`);
    await sleep(25);
  }
}

/** Seconds until the job of a delivery runs next, once its last run is on record. */
export async function untilNext({ app }: Quarterdeck): Promise<number> {
  for (let tries = 0; tries < 400; tries++) {
    const { rows } = await app.db.read((tx) =>
      tx.query(
        sql`select extract(epoch from run_at - kernel.now())::float8 as s from kernel.job where kind = 'email.deliver-webhook' and lease is null`,
      ),
    );
    if (rows.length) return (rows[0] as { s: number }).s;
    await sleep(25);
  }
  throw new Error('the job does not come back');
}

export const ofLoopback = { QUARTERDECK_ALLOW_PRIVATE_CIDRS: '127.0.0.0/8' };

/** Something to be told of, without mail. */
export const suppressAnAddress = (who: Someone, address = `somebody-${Math.floor(performance.now() * 1000)}@far.example`) =>
  who.post('/email/suppressions', { address });
