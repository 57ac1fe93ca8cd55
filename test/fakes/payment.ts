import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { TestContext } from 'node:test';

/** How the provider is doing: well, failing, talking nonsense, or gone. */
export type Health = 'well' | 'failing' | 'nonsense' | 'gone';

export interface FakePayment {
  url: string;
  /** Billing addresses by organization, as the provider knows them. */
  billing: Map<string, string>;
  /** Organizations without an active payment method. */
  inactive: Set<string>;
  /** Addresses of its other customers. */
  taken: Set<string>;
  be(health: Health): void;
  /** From now on every request is left unanswered, until what this returns is called. */
  hold(): { asked: Promise<void>; release(): void };
}

/** A payment provider's adapter, as QUARTERDECK_PAYMENT_URL expects it. */
export async function fakePayment(t: TestContext): Promise<FakePayment> {
  let health: Health = 'well';
  const billing = new Map<string, string>();
  const inactive = new Set<string>();
  const taken = new Set<string>();

  let gate: { open: Promise<void>; ask(): void } | undefined;

  const server = http.createServer(async (request, response) => {
    gate?.ask();
    await gate?.open;
    if (health === 'gone') return request.socket.destroy();
    if (health === 'failing') return response.writeHead(500).end();
    if (health === 'nonsense') return response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>');
    const [, , slug = '', what] = request.url!.split('/');
    if (request.method === 'GET' && !what)
      return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ active: !inactive.has(slug) }));
    if (request.method === 'PUT' && what === 'billing-email') {
      const { email } = (await json(request).catch(() => ({ email: '' }))) as { email: string };
      if (!email) return request.socket.destroy(); // the caller gave up
      if (taken.has(email)) return response.writeHead(409).end();
      billing.set(slug, email);
      return response.writeHead(204).end();
    }
    response.writeHead(404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const hold = () => {
    const open = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    gate = { open: open.promise, ask: asked.resolve };
    const release = () => {
      gate = undefined;
      open.resolve();
    };
    t.after(release);
    return { asked: asked.promise, release };
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    billing,
    inactive,
    taken,
    be: (next) => (health = next),
    hold,
  };
}
