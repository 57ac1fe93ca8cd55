import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { eventually } from '../../../../test/harness/process.ts';
import { row, run } from '../../../kernel/db/index.ts';
import { lockSpace } from '../store/objects.ts';
import { clientUsages, csrs, kubelet, signingRequest } from './signing-requests.ts';
import { type Answer, type Caller, configMap, embedded, issue, makeRequest } from './support.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const maps = '/api/v1/namespaces/default/configmaps';
const accounts = '/api/v1/namespaces/default/serviceaccounts';

test('permissions that are revoked while a write waits do not count', async (t) => {
  const { call, as, ca, deck, options, another } = await embedded(t);
  const [second, third] = [await another(), await another()];
  const { db } = deck.app;

  /** Holds the cluster's lock until these requests wait for it in this order, then releases it. */
  const inOrder = async (...acts: (() => Promise<Answer>)[]): Promise<Answer[]> => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const { promise: isLocked, resolve: locked } = Promise.withResolvers<void>();
    const blocker = db.write(async (tx) => {
      await lockSpace(tx, options.clusterId);
      locked();
      await held;
    });
    await isLocked;
    const sent: Promise<Answer>[] = [];
    for (const act of acts) {
      sent.push(act());
      const Waiting = Type.Object({ n: Type.Integer() });
      const isWaiting = async () =>
        (await db.read(
          (tx) => row(tx, Waiting)`
          select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and query like '%clusters.object_space%'`,
        ))!.n === sent.length;
      await eventually(isWaiting);
    }
    release();
    await blocker;
    return Promise.all(sent);
  };

  const bind = async (name: string, rules: unknown[], subject: { kind: string; name: string; namespace?: string }) => {
    await call('POST', `${rbac}/clusterroles`, { metadata: { name }, rules });
    const made = await call('POST', `${rbac}/clusterrolebindings`, {
      metadata: { name },
      roleRef: { kind: 'ClusterRole', name },
      subjects: [subject],
    });
    assert.equal(made.status, 201, made.text);
    return () => call('DELETE', `${rbac}/clusterrolebindings/${name}`);
  };
  const anything = (resources: string[], apiGroups = ['']) => ({ apiGroups, resources, verbs: ['*'] });

  // A request that may be approved is replaced by one of the same name that may not.
  const eve = issue(ca, 'eve');
  const client = 'kubernetes.io/kube-apiserver-client';
  await bind(
    'approver',
    [
      anything(['certificatesigningrequests', 'certificatesigningrequests/approval'], ['certificates.k8s.io']),
      { ...anything(['signers'], ['certificates.k8s.io']), resourceNames: [kubelet] },
    ],
    { kind: 'User', name: 'eve' },
  );
  const nodes = makeRequest('system:node:eve', ['system:nodes']);
  const people = makeRequest('root', ['admins']);
  const approval = { status: { conditions: [{ type: 'Approved', status: 'True', reason: 'Test', message: 'yes' }] } };
  const swap = async () => {
    assert.equal((await as(eve)('POST', csrs, signingRequest('x', nodes.pem, kubelet, clientUsages))).status, 201);
    const [removed, put, approved] = await inOrder(
      () => as(eve)('DELETE', `${csrs}/x`),
      () => second.as(eve)('POST', csrs, signingRequest('x', people.pem, client, clientUsages)),
      () => third.as(eve)('PATCH', `${csrs}/x/approval`, approval, { 'content-type': 'application/merge-patch+json' }),
    );
    assert.deepEqual([removed!.status, put!.status], [200, 201]);
    assert.equal((await call('GET', `${csrs}/x`)).body.status?.certificate, undefined);
    await call('DELETE', `${csrs}/x`);
    return approved!.status;
  };
  // PostgreSQL may grant the row lock to the later of two waiters: then there was nothing to approve.
  const outcomes = [await swap()];
  while (outcomes.at(-1) === 404 && outcomes.length < 20) outcomes.push(await swap());
  assert.equal(outcomes.at(-1), 403, outcomes.join());

  const anna = issue(ca, 'anna');
  const robot = async (name: string) => {
    await call('POST', accounts, { metadata: { name } });
    return (await call('POST', `${accounts}/${name}/token`, {})).body.status.token as string;
  };
  const tokens = { robot: await robot('robot'), bound: '' };
  await bind('robot', [anything(['configmaps'])], { kind: 'ServiceAccount', name: 'robot', namespace: 'default' });
  await call('POST', '/api/v1/namespaces/default/secrets', { metadata: { name: 'tie' } });
  const tied = { spec: { boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 'tie' } } };
  tokens.bound = (await call('POST', `${accounts}/robot/token`, tied)).body.status.token;
  const data = { 'token-id': 'abcdef', 'token-secret': '0123456789abcdef', 'usage-bootstrap-authentication': 'true' };
  const bootstrap = { metadata: { name: 'bootstrap-token-abcdef' }, type: 'bootstrap.kubernetes.io/token', stringData: data };
  assert.equal((await call('POST', '/api/v1/namespaces/kube-system/secrets', bootstrap)).status, 201);
  await bind('joiner', [anything(['certificatesigningrequests'], ['certificates.k8s.io'])], {
    kind: 'User',
    name: 'system:bootstrap:abcdef',
  });
  const node = issue(ca, 'system:node:n1', ['system:nodes']);
  const refuseNode = () =>
    db.write(async (tx) => {
      await lockSpace(tx, options.clusterId);
      await run(tx)`
        insert into clusters.node_certificate (org_id, cluster_id, fingerprint, node, expires_at, refused_at)
        values (${deck.owner.orgId}, ${options.clusterId}, ${node.fingerprint}, 'n1', kernel.now() + interval '1 day', kernel.now())`;
      return { status: 200 } as Answer;
    });

  const mapOf = (name: string) => (by: Caller) => by('POST', maps, configMap(name));
  const cases: [what: string, revoke: () => Promise<Answer>, act: () => Promise<Answer>, refusal: number, path?: string][] = [
    [
      'a binding',
      await bind('anna', [anything(['configmaps'])], { kind: 'User', name: 'anna' }),
      () => mapOf('a')(second.as(anna)),
      403,
      `${maps}/a`,
    ],
    [
      'a right to mint tokens',
      await bind('minter', [anything(['serviceaccounts/token'])], { kind: 'User', name: 'anna' }),
      () => second.as(anna)('POST', `${accounts}/robot/token`, {}),
      403,
    ],
    [
      'a right to impersonate',
      await bind('actor', [anything(['users', 'groups'])], { kind: 'User', name: 'anna' }),
      () => second.as(anna)('POST', maps, configMap('b'), { 'impersonate-user': 'x', 'impersonate-group': 'system:masters' }),
      403,
      `${maps}/b`,
    ],
    [
      'the Secret that a token is bound to',
      () => call('DELETE', '/api/v1/namespaces/default/secrets/tie'),
      () => mapOf('c')(second.as(tokens.bound)),
      401,
      `${maps}/c`,
    ],
    ['a service account', () => call('DELETE', `${accounts}/robot`), () => mapOf('d')(second.as(tokens.robot)), 401, `${maps}/d`],
    [
      'a bootstrap token',
      () => call('DELETE', '/api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef'),
      () => second.as('abcdef.0123456789abcdef')('POST', csrs, signingRequest('late', nodes.pem, kubelet, clientUsages)),
      401,
      `${csrs}/late`,
    ],
    [
      'a node’s certificate',
      refuseNode,
      () => second.as(node)('POST', '/api/v1/nodes', { metadata: { name: 'n1' } }),
      401,
      '/api/v1/nodes/n1',
    ],
  ];
  for (const [what, revoke, act, refusal, path] of cases) {
    const [revoked, acted] = await inOrder(revoke, act);
    assert.equal(revoked!.status, 200, `${what}: ${revoked!.text}`);
    assert.equal(acted!.status, refusal, `${what}: ${acted!.text}`);
    if (path) assert.equal((await call('GET', path)).status, 404, what);
  }
});
