import assert from 'node:assert/strict';
import test from 'node:test';
import { GuardRefusal, makeGuard, type Resolver } from '../index.ts';
import { loopback, somewhere } from './internet.ts';
import { httpServer } from './servers.ts';
import { literalHosts, trickHosts, trickUrls } from './spellings.ts';

/** A header line cannot hold these, so no server can send them. */
const fitsInHeader = (location: string) => !/[\p{Cc}]/u.test(location);

test('redirects to forbidden places are not followed', async (t) => {
  let location = '';
  const port = await httpServer(t, (_request, response) => {
    response.writeHead(302, { location: Buffer.from(location).toString('latin1') }).end();
  });
  const { connector, reached } = loopback(() => port);
  const resolver: Resolver = { resolve: async (host) => [{ address: host === 'start.example.org' ? somewhere : '127.0.0.1' }] };
  const guard = makeGuard({ resolver, connector });

  // Relative to its own origin, these lead back to the start: harmless, and not tested here.
  const absolute = trickUrls.filter((url) => !['', '/etc/passwd', 'http:127.0.0.1', 'http:/127.0.0.1', 'http:/\\127.0.0.1'].includes(url));
  const locations = [...literalHosts, ...trickHosts]
    .flatMap((host) => [`http://${host}/`])
    .concat(absolute, '//127.0.0.1/', '\\\\127.0.0.1\\');
  let tried = 0;
  for (location of locations.filter(fitsInHeader)) {
    tried++;
    const following = guard.fetch('webhook', 'http://start.example.org/', { maxRedirects: 3 });
    await assert.rejects(following, (error) => error instanceof GuardRefusal, location);
  }
  assert.ok(tried > 1000);
  assert.equal(reached.length, tried);
  assert.ok(reached.every(({ address }) => address === somewhere));
});
