import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { sql } from '../../../../../kernel/sql.ts';
import { email } from '../../../index.ts';
import { sealSegment } from '../../../store/segments.ts';
import type { InboundMessage } from '../../engine/inbound-message.ts';
import { openInboundIntake } from '../../engine/intake.ts';
import { type MxScene, mxScene } from './mx-scene.ts';

/** An inbound intake whose slots are counted. Started arrivals are not read; their leases lapse. */
function countedReception({ qd }: MxScene) {
  const places = new Map<string, number>();
  const count = (org: string, change: number) => places.set(org, (places.get(org) ?? 0) + change);
  let begun = 0;
  const arrivalWorker = {
    reserve: (org: string) => Boolean(count(org, 1)),
    release: (org: string) => void count(org, -1),
    start: (arrivals: readonly { org_id: string }[]) => {
      begun += arrivals.length;
      for (const { org_id } of arrivals) count(org_id, -1);
    },
  };
  const { spool } = qd.own(email).receiving;
  const reception = openInboundIntake({ app: qd.app, spool, node: 'here', arrivalWorker: () => arrivalWorker });
  return { reception, spool, left: () => [...places.values()].reduce((sum, n) => sum + n, 0), begun: () => begun };
}

function inboundMessageOf({ domainId, routeId, endpointId }: MxScene, org: string, helo = 'far.example', bytes = 100): InboundMessage {
  const destination = { kind: 'route' as const, org, domainId, routeId, endpointId };
  return {
    envelope: { mailFrom: 'bob@far.example', remoteIp: '192.0.2.1', tls: null, helo },
    sender: '192.0.2.1',
    destinations: [{ destination, addresses: ['support@in.example.com'] }],
    content: Buffer.alloc(bytes, 'x'),
  };
}

const outcomesOf = async (taken: Promise<string>[]) =>
  (await Promise.allSettled(taken)).map((fate) =>
    fate.status === 'fulfilled' ? 'taken' : ((fate.reason as { code?: string }).code ?? 'error'),
  );

test('refused arrivals hold no slot, and take none from others', async (t) => {
  const scene = await mxScene(t, { env: { QUARTERDECK_ROLES: 'api', QUARTERDECK_EMAIL_INBOUND_QUOTA_BYTES: '20000' } });
  await t.test('the one message of a batch that the database cannot store', (t) => refuseWhatCannotBeKept(t, scene));
  await t.test('the messages of the organization without quota in a mixed batch', (t) => refuseWhoHasNoRoom(t, scene));
  await t.test('a segment that was sealed meanwhile is left, and nothing else', (t) => leaveSealedSegment(t, scene));
});

async function refuseWhatCannotBeKept(_: TestContext, scene: MxScene): Promise<void> {
  const { reception, left, begun } = countedReception(scene);
  const helos = ['a', 'b', 'a \u0000 NUL', 'half a \ud800 character', 'e'];
  const fates = await outcomesOf(helos.map((helo, n) => reception.take(inboundMessageOf(scene, `org_${n}`, helo))));
  assert.deepEqual(
    fates.map((fate) => fate === 'taken'),
    [true, true, false, false, true],
  );
  assert.deepEqual([left(), begun()], [0, 3]);
}

async function refuseWhoHasNoRoom(_: TestContext, scene: MxScene): Promise<void> {
  const { reception, left, begun } = countedReception(scene);
  // Exactly full, with what a row costs beside its bytes.
  const sizes: [string, number][] = [
    ['org_full', 20_000 - 1_024],
    ['org_other', 100],
    ['org_full', 1],
    ['org_third', 100],
  ];
  const fates = await outcomesOf(sizes.map(([org, bytes]) => reception.take(inboundMessageOf(scene, org, 'far.example', bytes))));
  assert.deepEqual(fates, ['taken', 'taken', 'inbound_quota', 'taken']);
  assert.deepEqual([left(), begun()], [0, 3]);
}

async function leaveSealedSegment(_: TestContext, scene: MxScene): Promise<void> {
  const { qd } = scene;
  const { reception, left, begun } = countedReception(scene);
  await reception.take(inboundMessageOf(scene, 'org_sealed'));
  const keyOf = async () => {
    const { rows } = await qd.app.db.read((tx) =>
      tx.query(sql`select body_key from email.arrival where org_id = 'org_sealed' order by id desc limit 1`),
    );
    return (rows[0] as { body_key: string }).body_key;
  };
  const sealed = await keyOf();
  await qd.app.db.write((tx) => sealSegment(tx, sealed));
  await Promise.all([reception.take(inboundMessageOf(scene, 'org_sealed')), reception.take(inboundMessageOf(scene, 'org_sealed'))]);
  assert.notEqual(await keyOf(), sealed);
  assert.deepEqual([left(), begun()], [0, 3]);
}
