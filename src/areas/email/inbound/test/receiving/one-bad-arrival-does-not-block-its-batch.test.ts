import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { eventually } from '../../../../../../test/harness/process.ts';
import { sql } from '../../../../../kernel/sql.ts';
import { email } from '../../../index.ts';
import { noArrivalReader, startArrivalReader } from '../../engine/index.ts';
import { openInboundIntake } from '../../engine/intake.ts';
import { letterIn, mxScene } from './mx-scene.ts';

test('one arrival that the database refuses does not block the rest of its batch', async (t) => {
  const { qd, domainId, routeId, endpointId } = await mxScene(t, { env: { QUARTERDECK_ROLES: 'api' } });
  const reception = openInboundIntake({
    app: qd.app,
    spool: qd.own(email).receiving.spool,
    node: 'here',
    arrivalWorker: () => noArrivalReader,
  });
  const destination = { kind: 'route' as const, org: qd.owner.orgId, domainId, routeId, endpointId };
  const take = () =>
    reception.take({
      envelope: { mailFrom: 'bob@far.example', remoteIp: '192.0.2.1', tls: null, helo: 'far.example' },
      sender: '192.0.2.1',
      destinations: [{ destination, addresses: ['support@in.example.com'] }],
      content: Buffer.from(letterIn()),
    });
  const [bad, ...good] = await Promise.all(Array.from({ length: 9 }, take));
  // Its recipients are no list, which only a mistake of ours could have written.
  await qd.app.db.write((tx) =>
    tx.query(sql`update email.arrival set envelope = envelope || '{"rcptTo": "nobody"}' where message_id = ${bad}`),
  );

  const counted: string[] = [];
  const read = async () => Readable.from([Buffer.from(letterIn().replace('To: support@in.example.com\r\n', ''))]);
  const readings = startArrivalReader({
    app: qd.app,
    spool: { read } as never,
    node: 'here',
    mailHost: 'mx.host.example',
    onOutcome: (outcome) => counted.push(outcome),
  });
  await eventually(async () => counted.length >= good.length);
  await readings.stop();
  assert.deepEqual(
    counted,
    good.map(() => 'told'),
  );
  const { rows } = await qd.app.db.read((tx) => tx.query(sql`select message_id, lease from email.arrival`));
  assert.deepEqual(
    rows.map(({ message_id }) => message_id),
    [bad],
    'it is still there for the next claim',
  );
});
