import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oidcIssuer } from '../../../../../test/fakes/oidc-issuer.ts';
import { makeGuard, parseAllow } from '../../../../kernel/guard/index.ts';
import { makeLog } from '../../../../kernel/log.ts';
import { BadToken, type IssuerParts, IssuerUnreachable, makeIssuers } from '../../clients/issuers.ts';

const at = Date.parse('2026-11-15T12:00:00Z');
const clock = async () => at;

function issuersWith(limits: Partial<IssuerParts>) {
  const guard = makeGuard({ allow: parseAllow('oidc=127.0.0.0/8') });
  return makeIssuers({ guard, log: makeLog('silent'), clock, mayBePlain: () => true, ...limits });
}

test('an issuer’s new keys are fetched when a token names them, and not before', async (t) => {
  const issuer = await oidcIssuer(t, clock);
  let time = 0;
  const issuers = issuersWith({ monotonic: () => time });
  const verify = async (token: string) =>
    issuers.verify(issuer.url, token).then(
      () => 'good',
      (error: Error) => error.constructor.name,
    );
  const old = await issuer.token();
  assert.equal(await verify(old), 'good');
  assert.equal(issuer.asked.keys, 1);

  await issuer.rotate();
  const fresh = await issuer.token();
  time += 10_000;
  assert.equal(await verify(fresh), 'BadToken', 'asked a moment ago');
  time += 25_000;
  assert.equal(await verify(fresh), 'good');
  assert.equal(issuer.asked.keys, 2);
  assert.equal(await verify(old), 'BadToken', 'its key is gone');

  issuer.behave('down');
  time += 700_000;
  assert.equal(await verify(fresh), 'good', 'the keys from before, while it is down');
  time += 3_600_000;
  assert.equal(await verify(fresh), 'IssuerUnreachable', 'but not for ever');
  issuer.behave('well');
  time += 11_000;
  assert.equal(await verify(fresh), 'good');
});

test('a silent issuer times out', async (t) => {
  const issuer = await oidcIssuer(t, clock);
  issuer.behave('slow');
  const issuers = issuersWith({ timeouts: { totalMs: 200 } });
  await assert.rejects(issuers.verify(issuer.url, await issuer.token()), IssuerUnreachable);
  assert.ok(BadToken);
});

test('an unreadable clock does not invalidate the token', async (t) => {
  const issuer = await oidcIssuer(t, clock);
  const away = new Error('the database is away');
  const issuers = issuersWith({ clock: () => Promise.reject(away) });
  await assert.rejects(issuers.verify(issuer.url, await issuer.token()), away);
});
