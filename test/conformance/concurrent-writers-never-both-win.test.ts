import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Answer, quarterdeck } from '../harness/index.ts';

const rounds = 8;
type Outcome = [number, number | number[]];

/** Both at once, several times over: a race that is open shows itself in some of them. */
async function race(
  t: TestContext,
  what: string,
  [first, second]: Outcome,
  round: (n: number) => Promise<[() => Promise<Answer>, () => Promise<Answer>]>,
) {
  for (let n = 0; n < rounds; n++) {
    const [one, two] = await round(n);
    const answers = await Promise.all([one(), two()]);
    const [low, high] = answers.map((a) => a.status).sort((a, b) => a - b) as [number, number];
    assert.ok(low === first && [second].flat().includes(high), `${what}: ${JSON.stringify(answers.map((a) => [a.status, a.body]))}`);
  }
  t.diagnostic(`${what}: ${rounds} rounds`);
}

test('of two writers who want the same, one gets it and the other is told', async (t) => {
  const { owner, member, anonymous } = await quarterdeck(t);
  const service = async (name: string) => (await owner.post('/uptime/services', { name })).body.id as string;
  const role = async (name: string) => (await owner.post('/iam/roles', { name, permissions: ['uptime.monitor.read'] })).body.id as string;

  await race(t, 'two services of one name', [201, 409], async (n) => {
    const make = (path: string) => () => owner.post(path, { name: `made twice ${n}` });
    return [make('/uptime/services'), make('/oncall/services')];
  });

  await race(t, 'two services renamed to one name', [200, 409], async (n) => {
    const ids = [await service(`left ${n}`), await service(`right ${n}`)];
    const rename = (id: string) => () => owner.patch(`/uptime/services/${id}`, { name: `both want ${n}` });
    return [rename(ids[0]!), rename(ids[1]!)];
  });

  await race(t, 'two roles renamed to one name', [200, 409], async (n) => {
    const ids = [await role(`left ${n}`), await role(`right ${n}`)];
    const rename = (id: string) => () => owner.patch(`/iam/roles/${id}`, { name: `both want ${n}` });
    return [rename(ids[0]!), rename(ids[1]!)];
  });

  await race(t, 'one service renamed twice', [200, 200], async (n) => {
    const id = await service(`renamed ${n}`);
    return [
      () => owner.patch(`/uptime/services/${id}`, { name: `a ${n}` }),
      () => owner.patch(`/uptime/services/${id}`, { name: `b ${n}` }),
    ];
  });

  await race(t, 'one service deleted twice', [204, 404], async (n) => {
    const id = await service(`deleted ${n}`);
    return [() => owner.delete(`/uptime/services/${id}`), () => owner.delete(`/uptime/services/${id}`)];
  });

  await race(t, 'one role granted twice', [201, 409], async (n) => {
    const { userId } = await member(owner, 'member', `granted-${n}@example.com`);
    const grant = () => owner.post('/iam/grants', { subject: userId, role: 'uptime.viewer' });
    return [grant, grant];
  });

  await race(t, 'one invitation accepted twice', [201, 404], async (n) => {
    const { link } = (await owner.post('/organization/invitations', { email: `invited-${n}@example.com` })).body as { link: string };
    const accept = () => anonymous.post('/organization/invitations/accept', { secret: link.split('/').pop() });
    return [accept, accept];
  });
});

test('two owners cannot both leave, nor push each other out', async (t) => {
  const { organization, member } = await quarterdeck(t);

  await race(t, 'both leave', [204, 409], async (n) => {
    const first = await organization(`leaving-${n}`);
    const second = await member(first, 'owner', `second-${n}@leaving.example`);
    return [() => first.delete(`/organization/members/${first.userId}`), () => second.delete(`/organization/members/${second.userId}`)];
  });

  // The second one is refused because it is no owner any more, or, if it asked before that was known, because it is the last one's turn.
  await race(t, 'each demotes the other', [200, [403, 409]], async (n) => {
    const first = await organization(`demoting-${n}`);
    const second = await member(first, 'owner', `second-${n}@demoting.example`);
    const demote = (by: typeof first, whom: typeof first) => () => by.patch(`/organization/members/${whom.userId}`, { role: 'member' });
    return [demote(first, second), demote(second, first)];
  });
});
