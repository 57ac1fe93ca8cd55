import { type Caller, caller, type Quarterdeck, type Someone } from '../../../../test/harness/index.ts';
import { run } from '../../../kernel/db/index.ts';
import { topics } from '../rules/topics.ts';
import { keepKeys } from './kept-keys.ts';

export interface SendingKey extends Caller {
  id: string;
  keyId: string;
  secret: string;
  domainId: string;
}

/** A domain that is said to be verified. */
export async function verifiedDomain(server: Quarterdeck, of: Someone, name: string): Promise<string> {
  const { app } = server;
  keepKeys(server);
  const { body } = await of.post('/email/domains', { name });
  const { id } = body as { id: string };
  await app.db.write(async (tx) => {
    await run(tx)`update email.domain set send_state = 'verified' where id = ${id}`;
    await app.caches.drop(tx, topics.domain(id));
  });
  return id;
}

export async function sendKey({ url }: Quarterdeck, of: Someone, domainIds?: string[]): Promise<Omit<SendingKey, 'domainId'>> {
  const { body } = await of.post('/email/keys', { name: 'key', ...(domainIds ? { domainIds } : {}) });
  const { sendKey: made, secret } = body as { sendKey: { id: string; keyId: string }; secret: string };
  return { ...made, secret, ...caller(url, secret) };
}

/** A verified domain, and a key that sends for it. */
export async function sendingKey(server: Quarterdeck, of: Someone = server.owner, name = 'example.com'): Promise<SendingKey> {
  const domainId = await verifiedDomain(server, of, name);
  return { ...(await sendKey(server, of)), domainId };
}
