import assert from 'node:assert/strict';
import { request } from 'node:https';
import { type TestContext, test } from 'node:test';
import { caller } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { withPrograms } from '../process/support.ts';
import { adminOf, kube, readyCluster, type Way } from '../support.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const terminal = '/api/v1/namespaces/default/pods/web/exec?command=sh';
const accounts = '/api/v1/namespaces/default/serviceaccounts';

const bearer = ({ token }: Way) => ({ authorization: `Bearer ${token}` });
const upgrade = { connection: 'Upgrade', upgrade: 'websocket' };
/** A browser can set no header of its own. */
const asBrowser = ({ token }: Way) => ({
  ...upgrade,
  'sec-websocket-protocol': `v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.${Buffer.from(token!).toString('base64url')}`,
});

/** Resolves once it is answered; `isOpen` until the server closes it. */
async function open(t: TestContext, { server, ca }: Way, path: string, headers: Record<string, string>, status: number) {
  const began = Promise.withResolvers<number>();
  let isOpen = true;
  const end = () => {
    isOpen = false;
  };
  const asked = request(`${server}${path}`, { ca, agent: false, headers });
  t.after(() => asked.destroy());
  asked.on('response', (answer) => {
    began.resolve(answer.statusCode!);
    answer.on('error', end).on('close', end).resume();
  });
  asked.on('upgrade', (answer, socket) => {
    began.resolve(answer.statusCode!);
    socket.on('error', end).on('close', end).resume();
  });
  asked.on('error', began.reject).end();
  assert.equal(await began.promise, status, path);
  return { path, isOpen: () => isOpen };
}

const openAll = (t: TestContext, way: Way) =>
  Promise.all([
    open(t, way, `${maps}?watch=1`, bearer(way), 200),
    open(t, way, terminal, { ...upgrade, ...bearer(way) }, 101),
    open(t, way, terminal, asBrowser(way), 101),
  ]);

test('watches and terminals of a process cluster end with the access of their person, and no others', async (t) => {
  const qd = await withPrograms(t);
  const { owner } = qd;
  await readyCluster(owner, { name: 'prod' });
  const mint = async () => {
    const made = await owner.post('/tokens', { name: 'ci' });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    return { id: made.body.id, way: await adminOf(caller(qd.url, made.body.key), 'prod') };
  };
  const own = await adminOf(owner, 'prod');
  assert.equal((await kube(own, 'POST', accounts, { metadata: { name: 'pod' } })).status, 201);
  const made = await kube(own, 'POST', `${accounts}/pod/token`, { spec: { expirationSeconds: 3_600 } });
  const pod: Way = { ...own, token: made.body.status.token };
  const others = [...(await openAll(t, own)), ...(await openAll(t, pod))];
  const endsAll = async (opened: typeof others) => {
    await eventually(async () => opened.every(({ isOpen }) => !isOpen()), { withinMs: 30_000 });
    for (const { path, isOpen } of others) assert.ok(isOpen(), `another's ${path}`);
  };

  // Of a token that was used just now, whose row stays for a while.
  const fresh = await mint();
  const ofFresh = await openAll(t, fresh.way);
  assert.equal((await owner.delete(`/tokens/${fresh.id}`)).status, 204);
  await endsAll(ofFresh);

  // Of one that was used before, whose row goes with its Secret.
  const older = await mint();
  const ofOlder = await openAll(t, older.way);
  await qd.clock.advance('2m');
  assert.equal((await owner.delete(`/tokens/${older.id}`)).status, 204);
  await endsAll(ofOlder);
});
