import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { findSigner, recordsToPublish } from '../areas/email/index.ts';
import type { App } from '../kernel/app.ts';
import type { TryWorld } from '../try/index.ts';
import { ownerTokenFile } from './first-start.ts';

/** Gives the parts of `serve --try` what they ask the server for. */
export const connectTryWorld = (world: TryWorld, app: App): void =>
  world.connect({
    url: app.publicUrl,
    recordsAt: (name) => recordsToPublish(app, name),
    findSigner: (delivery) => findSigner(app, delivery),
    post: async (url, fields, headers) => {
      const body = new URLSearchParams(fields).toString();
      const sent = { ...headers, 'content-type': 'application/x-www-form-urlencoded' };
      const response = await app.guard.fetch('webhook', url, { method: 'POST', headers: sent, body });
      return readText(response.body);
    },
  });

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** The number that pages come from. It is reserved for tests at the real provider too. */
const fromNumber = '+15005550006';

/** The first organization pages by the phone of --try from its first start on. A provider that somebody has set stays. */
export async function pointProviderToPhone(app: App): Promise<void> {
  const key = (await readFile(ownerTokenFile(app.config.data), 'utf8')).trim();
  const url = `${app.publicUrl()}/api/v1/oncall/provider`;
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const known = await app.guard.fetch('webhook', url, { headers });
  if ((JSON.parse(await readText(known.body)) as { configured?: boolean }).configured) return;
  const account = { accountSid: `AC${randomBytes(16).toString('hex')}`, authToken: randomBytes(16).toString('hex'), fromNumber };
  const saved = await app.guard.fetch('webhook', url, { method: 'PUT', headers, body: JSON.stringify(account) });
  const told = await readText(saved.body);
  if (saved.status >= 300)
    app.log.warn({ status: saved.status, told: told.slice(0, 500) }, 'the phone of --try was not set as the provider');
}
