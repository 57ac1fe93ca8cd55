import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import Type from 'typebox';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { row, run } from '../../../../kernel/db/index.ts';
import { offerHandover } from '../../engine/hand-over.ts';
import { makeSuspects } from '../../engine/shard/presence.ts';
import * as store from '../../store/handover.ts';
import * as shards from '../../store/shards.ts';

const LeaseRow = Type.Object({
  lease: Type.Union([Type.String(), Type.Null()]),
  left_lease: Type.Union([Type.String(), Type.Null()]),
  heir: Type.Union([Type.String(), Type.Null()]),
});

const ofData = { directory: randomUUID(), hasEtcd: false };

test('of all servers one is the heir, and it takes only what is offered', async (t) => {
  const { owner, app, clock } = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api', QUARTERDECK_PUBLIC_URL: 'http://localhost' } });
  const [holder, one, two] = [randomUUID(), randomUUID(), randomUUID()];
  const touch = (id: string, leaving = false) =>
    app.db.write((tx) =>
      shards.touchShard(tx, { id, process: id.slice(0, 8), leaving, versions: [], withoutCgroups: '', sharing: '', ...ofData }),
    );
  const claim = (shard: string) =>
    app.db.write((tx) =>
      shards.claimClusters(tx, {
        limit: 9,
        shard,
        lease: randomUUID(),
        leaseSeconds: 20,
        held: [],
        drivers: ['embedded'],
        versions: [],
        ...ofData,
      }),
    );
  const inherit = (shard: string, heir = randomUUID()) =>
    app.db.write((tx) =>
      store.becomeHeir(tx, { limit: 9, perOrg: 3, shard, heir, heirSeconds: 20, drivers: ['embedded'], versions: [], except: [] }),
    );
  const take = (id: string, heir: string, shard: string) =>
    app.db.write((tx) => store.takeOffered(tx, { id, lease: heir }, { shard, leaseSeconds: 20, storeGeneration: 1 }));
  const offer = () => app.db.write((tx) => offerHandover(tx, 'prod'));
  const rowOf = async (id: string) =>
    (await app.db.read((tx) => row(tx, LeaseRow)`select lease, left_lease, heir from clusters.cluster where id = ${id}`))!;
  await touch(holder);
  assert.equal((await owner.post('/clusters', { name: 'prod', tier: 'small', orchestratorVersion: 'v1.36.0+embedded' })).status, 201);

  await assert.rejects(offer(), /is not ready yet/);
  const [held] = await claim(holder);
  const { id, lease } = held!;
  await app.db.write(
    (tx) => run(tx)`update clusters.cluster set observed_generation = generation, phase = 'ready', port = 16443 where id = ${id}`,
  );
  await assert.rejects(offer(), /no other server with the role shard can take cluster prod over/);
  await touch(one, true);
  await assert.rejects(offer(), /no other server/, 'one that stops takes nothing');
  await touch(one);
  await touch(two);
  assert.deepEqual(await inherit(one), [], 'nothing is offered');
  await offer();
  assert.deepEqual(await inherit(holder), [], 'not by its holder');

  // Two at once.
  const heirs = new Map([one, two].map((shard) => [shard, randomUUID()]));
  const found = await Promise.all([...heirs].map(async ([shard, heir]) => ((await inherit(shard, heir)).length > 0 ? [shard] : [])));
  const [winner] = found.flat();
  assert.equal(found.flat().length, 1);
  const [heir, loser] = [heirs.get(winner!)!, winner === one ? two : one];
  assert.equal(await take(id, heirs.get(loser)!, loser), false);
  assert.equal(await take(id, heir, winner!), true);
  assert.deepEqual(await rowOf(id), { lease: heir, left_lease: lease, heir: null });
  assert.equal(await take(id, heir, winner!), false, 'once');
  assert.equal(await app.db.read((tx) => store.wasTaken(tx, { id, lease })), true);
  assert.equal(await app.db.read((tx) => store.wasTaken(tx, { id, lease: randomUUID() })), false);

  // What the holder before believes changes nothing any more.
  assert.equal(await app.db.write((tx) => shards.settleReady(tx, { id, lease }, 1, 'https://elsewhere')), 0);
  assert.deepEqual(await app.db.write((tx) => shards.renewClusters(tx, [{ id, lease, leaseSeconds: 20 }])), ['lost']);
  assert.equal(await app.db.write((tx) => store.offerLease(tx, { id, lease })), 0);
  assert.equal(await app.db.write((tx) => store.finishLeaving(tx, { id, lease: randomUUID() })), 0);
  assert.equal(await app.db.write((tx) => store.finishLeaving(tx, { id, lease })), 1);

  // The heir of a server that is gone keeps its turn before everybody else, for as long as it says that it prepares.
  await offer();
  const next = randomUUID();
  assert.equal((await inherit(loser, next)).length, 1);
  await app.db.write((tx) => store.endLeasesOf(tx, winner!));
  assert.deepEqual(await claim(holder), []);
  assert.deepEqual(await app.db.write((tx) => store.renewHeirs(tx, loser, [id], 20)), [id]);
  assert.equal(await take(id, next, loser), true);
  // One that is gone itself does not.
  await offer();
  assert.equal((await inherit(holder)).length, 1);
  await app.db.write((tx) => store.endLeasesOf(tx, loser));
  await clock.advance('21s');
  const [claimed] = await claim(winner!);
  assert.equal(claimed?.id, id);

  // What is being deleted is not taken, nor what was claimed meanwhile by a server of the release before, which knows no offers.
  for (const each of [holder, one, two]) await touch(each);
  await offer();
  const late = randomUUID();
  assert.equal((await inherit(loser, late)).length, 1);
  await app.db.write((tx) => run(tx)`update clusters.cluster set lease = ${randomUUID()} where id = ${id}`);
  assert.equal(await take(id, late, loser), false);
  assert.deepEqual(await app.db.write((tx) => store.renewHeirs(tx, loser, [id], 20)), []);
  await assert.rejects(offer(), /no server of this release holds cluster prod/);
  await app.db.write((tx) => run(tx)`update clusters.cluster set offered_lease = lease, phase = 'deleting' where id = ${id}`);
  assert.equal(await take(id, late, loser), false);
});

test('the leases of a server end once it was not heard for long enough, and only if it is not heard again', async (t) => {
  const { app } = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } });
  const [self, other, before] = [randomUUID(), randomUUID(), randomUUID()];
  const about = { leaving: false, versions: [], withoutCgroups: '', sharing: '', ...ofData };
  await app.db.write(async (tx) => {
    await shards.touchShard(tx, { id: self, process: app.process, ...about });
    await shards.touchShard(tx, { id: other, process: app.process, ...about });
    await run(tx)`insert into clusters.shard (id, seen_at) values (${before}, kernel.now() - interval '1 minute')`;
  });
  const peersOf = (shard: string) => app.db.read((tx) => store.peersOf(tx, shard));
  const [peer, ...none] = await peersOf(self);
  assert.deepEqual([peer!.id, peer!.is_disconnected, none.length], [other, false, 0], 'not the one of the release before');
  await app.db.write((tx) => shards.touchShard(tx, { id: other, process: 'gone0000', ...about }));
  assert.equal(await app.db.write((tx) => store.endShard(tx, peer!)), false, 'it was heard since');
  const [gone] = await peersOf(self);
  assert.equal(gone!.is_disconnected, true);
  assert.equal(await app.db.write((tx) => store.endShard(tx, gone!)), true);
  assert.deepEqual(await peersOf(self), []);

  const says = (silent_ms: number, is_disconnected = false) => [{ id: other, seen_at: '', silent_ms, is_disconnected }];
  const suspects = makeSuspects();
  const isGone = (peers: store.PeerRow[], at: number) => suspects.judge(peers, at).length > 0;
  assert.deepEqual([isGone(says(9_000), 0), isGone(says(9_900), 1_499), isGone(says(9_900), 1_500)], [false, false, true]);
  suspects.clear();
  assert.equal(isGone(says(60_000), 10_000), false, 'after an outage everybody has been silent');
  assert.equal(isGone(says(100), 11_000), false);
  assert.equal(isGone(says(9_000), 12_000), false, 'heard in between');
  suspects.clear();
  assert.deepEqual([isGone(says(500, true), 0), isGone(says(2_000, true), 1_500), isGone(says(2_500, true), 2_000)], [false, false, true]);
  suspects.clear();
  assert.deepEqual([isGone(says(2_500), 0), isGone(says(7_900), 5_400)], [false, false], 'with its connection it has more time');
});
