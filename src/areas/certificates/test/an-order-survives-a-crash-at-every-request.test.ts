import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { run } from '../../../kernel/db/index.ts';
import { makeOperatorGuard } from '../../../kernel/guard/index.ts';
import { makeAcme, makeTransport } from '../clients/acme/index.ts';
import { keepCertificates } from '../engine/keep-certificates.ts';
import { acmeSettings } from '../engine/settings.ts';
import { orderNow } from '../store/certificates.ts';
import { acmeScene, isIssued, publicHost, rowOf } from './support.ts';

class Crash extends Error {}

test('an order survives a crash before and after every request, and is not made twice', async (t) => {
  const { authority, env, dns } = await acmeScene(t);
  const qd = await quarterdeck(t, { env: { ...env, QUARTERDECK_ROLES: 'api' } });
  const { app } = qd;
  const guard = makeOperatorGuard([dns.address]);

  /** One run of the task that ends at this request as if the process had died: nothing is written afterwards. */
  const runUntil = async (crashAt: number, phase: 'before' | 'after' | 'never'): Promise<boolean> => {
    const death = new AbortController();
    const settings = acmeSettings(app.config)!;
    let requests = 0;
    const makeDying = (signal: AbortSignal) => {
      const transport = makeTransport(guard, signal);
      const die = () => {
        death.abort(new Crash());
        throw new Crash();
      };
      return makeAcme(async (url, request) => {
        const isLast = requests++ === crashAt;
        if (isLast && phase === 'before') die();
        const answer = await transport(url, request);
        if (isLast && phase === 'after') die();
        return answer;
      }, settings.directory);
    };
    try {
      await keepCertificates({ app, settings, makeAcme: makeDying, signal: death.signal, log: app.log });
    } catch (error) {
      assert.ok(error instanceof Crash, String(error));
    }
    return death.signal.aborted;
  };

  let points = 0;
  for (const phase of ['before', 'after'] as const) {
    for (let at = 0; ; at++) {
      // An account and a certificate to be obtained anew, far enough from those before for the limits.
      await app.db.write(async (tx) => {
        await run(tx)`delete from certificates.authority`;
        await orderNow(tx, publicHost);
      });
      await qd.clock.advance('8d');
      authority.manner.aheadMs += 8 * 86_400_000;
      const before = { issued: authority.issued.length, orders: authority.orders.length, accounts: authority.accounts.length };
      const keptBefore = (await rowOf(app, publicHost))?.issued_at;
      if (!(await runUntil(at, phase))) break;
      points++;
      await qd.clock.advance('4m'); // the dead run's claim lapses
      await runUntil(Number.POSITIVE_INFINITY, 'never');
      const row = (await rowOf(app, publicHost))!;
      const made = `${phase} request ${at}`;
      assert.ok(isIssued(row) && row.issued_at !== keptBefore, `${made}: ${row.step} ${row.last_error}`);
      assert.equal(authority.issued.length, before.issued + 1, `${made}: one certificate`);
      assert.ok(authority.accounts.length <= before.accounts + 1, `${made}: one account`);
      // Only an order whose answer was lost is not known to us.
      const orders = authority.orders.length - before.orders;
      assert.ok(orders === 1 || (orders === 2 && phase === 'after'), `${made}: ${orders} orders`);
    }
  }
  assert.ok(points >= 18, `${points} points`);
  const refused = authority.looked.filter((looked) => !looked.endsWith(' valid'));
  assert.deepEqual(refused, []);
});
