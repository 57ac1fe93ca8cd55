import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { answering } from '../../sdk/test/servers.ts';
import { nameTyped } from '../command-name.ts';
import { nearest } from '../names/nearest.ts';
import { cliHere } from './cli-context.ts';

/** A server with these answers by the end of the path; every other path is unknown. */
async function serverWith(t: Parameters<typeof answering>[0], answers: Record<string, [status: number, answer: object]>) {
  const url = await answering(t, (request, response) => {
    const path = new URL(request.url!, 'http://server').pathname;
    const [status, answer] = answers[path.replace('/api/v1', '')] ?? [404, { error: 'unknown' }];
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  return cliHere(url, 'qd_pat_test');
}

const me = { id: 'usr_1', email: 'ann@example.com', name: 'Ann', organizations: [{ slug: 'acme', role: 'owner' }] };

test('an empty list says how to make the first, unless a flag narrowed it', async (t) => {
  const cli = await serverWith(t, { '/email/webhooks': [200, { webhooks: [] }], '/oncall/incidents': [200, { incidents: [] }] });
  assert.equal((await cli('email', 'webhooks', 'list')).stderr, 'no webhooks yet; make one: quarterdeck email webhooks create\n');
  assert.equal((await cli('oncall', 'incidents', 'list', '--status', 'open')).stderr, 'no incidents\n');
  for (const output of ['--json', '--only=id', '-oname', '-oyaml'])
    assert.equal((await cli('email', 'webhooks', 'list', output)).stderr, '', output);
});

test('a word that stands deeper in the tree, and a name that is nearly right, are shown', async (t) => {
  const cli = await serverWith(t, {
    '/email/domains': [200, { domains: [{ id: 'dom_1', name: 'mail.acme.example' }] }],
    '/registry/registries': [200, { registries: [{ slug: 'acme' }] }],
  });
  const sentences: [string[], string][] = [
    [['members'], "quarterdeck: unknown command 'members'\n(did you mean quarterdeck organization members?)\n(see quarterdeck --help)\n"],
    [['role', 'list'], "quarterdeck: unknown command 'role'\n(did you mean quarterdeck iam roles?)\n(see quarterdeck --help)\n"],
    [['emial'], "quarterdeck: unknown command 'emial'\n(Did you mean email?)\n(see quarterdeck --help)\n"],
    [
      ['email', 'domains', 'get', 'mail.amce.example'],
      'quarterdeck: unknown domain "mail.amce.example"; did you mean "mail.acme.example"? quarterdeck email domains list shows them\n',
    ],
    [
      ['registry', 'keys', 'list', 'amce'],
      'quarterdeck: unknown registry "amce"; did you mean "acme"? quarterdeck registry list shows them\n',
    ],
    [['email', 'domains', 'get', 'other.test'], 'quarterdeck: unknown domain "other.test"; quarterdeck email domains list shows them\n'],
    [
      ['uptime', 'monitors', 'create', '--name', 'web'],
      'quarterdeck: --interval-seconds, --vantages and --kind tcp|http are missing; see quarterdeck uptime monitors create --help\n',
    ],
  ];
  for (const [args, sentence] of sentences) assert.equal((await cli(...args)).stderr, sentence);
  assert.equal(nearest('x'.repeat(10_000), ['x'.repeat(9_999)]), undefined);
});

test('routes in the server’s sentences are shown as commands, and a key of the wrong kind is told', async (t) => {
  const cli = await serverWith(t, {
    '/tokens': [400, { error: 'nope is not a role; GET /api/v1/iam/roles lists them' }],
    '/me': [200, me],
    '/email/send': [401, { error: 'no valid session' }],
  });
  assert.equal(
    (await cli('tokens', 'create', '--name', 'ci', '--scope', 'nope')).stderr,
    'quarterdeck: nope is not a role; `quarterdeck iam roles list` lists them\n',
  );
  assert.match(
    (await cli('email', 'send', '--from', 'a@b.example', '--to', 'c@d.example', '--subject', 's', '--text', 't')).stderr,
    /; this takes a send key, as --token: `quarterdeck email keys create` makes one\n$/,
  );
});

test('a create says what comes next once, and after --wait nothing that would wait again', async (t) => {
  const cluster = { name: 'dev', tier: 'small', orchestratorVersion: '1.36', replicas: 1, phase: 'ready' };
  const cli = await serverWith(t, { '/clusters': [200, cluster], '/clusters/dev': [200, cluster], '/me': [200, me] });
  const create = ['clusters', 'create', '--name', 'dev', '--tier', 'small'];
  const kubeconfig = 'next: quarterdeck clusters kubeconfig get dev --only kubeconfig > dev.yaml\n';
  assert.equal((await cli(...create)).stderr, `made cluster dev\nnext: quarterdeck clusters get dev --wait\n${kubeconfig}`);
  assert.equal((await cli(...create, '--wait')).stderr, `made cluster dev\ncluster dev: ready (0s)\n${kubeconfig}`);
});

test('commands to type next are those of a clone in a clone', () => {
  const typed = (script: string, cwd: string) => nameTyped(script, cwd, { PATH: '/usr/local/bin:/usr/bin' });
  assert.equal(typed('/home/ann/clone/quarterdeck', '/home/ann/clone'), './quarterdeck');
  assert.equal(typed('/home/ann/clone/quarterdeck', '/home/ann/clone/docs'), '../quarterdeck');
  assert.equal(typed('/home/ann/clone/quarterdeck', '/srv/deck'), '/home/ann/clone/quarterdeck');
  assert.equal(typed('/home/ann/my clone/quarterdeck', '/srv/deck'), 'quarterdeck');
  assert.equal(typed('/usr/local/bin/quarterdeck', '/home/ann/clone'), 'quarterdeck');
  assert.equal(typed('/home/ann/clone/bin/quarterdeck.mjs', '/home/ann/clone'), 'quarterdeck');
});

test('the Node that a clone brings shows commands as they were typed', () => {
  const root = join(import.meta.dirname, '..', '..');
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'] };
  const typed = (script: string, cwd: string, ...args: string[]) =>
    spawnSync(process.execPath, [script, ...args], { cwd: join(root, cwd), env, encoding: 'utf8' });
  assert.match(typed('./quarterdeck', '.', 'emial').stderr, /\(see \.\/quarterdeck --help\)\n$/);
  assert.match(typed('../quarterdeck', 'docs', 'help', 'registry').stdout, /^Usage: \.\.\/quarterdeck registry /);
  assert.match(typed('bin/quarterdeck.mjs', '.', 'emial').stderr, /\(see quarterdeck --help\)\n$/);
  assert.match(typed('scripts/start.mjs', '.', 'serve', '--rolls').stderr, /\(see \.\/quarterdeck serve --help\)\n$/);
});

test('whoami and status say that a server is one for trying', async (t) => {
  const answers = { '/me': [200, me], '/try/about.json': [200, { try: true }] } as const;
  const cli = await serverWith(t, answers as unknown as Record<string, [number, object]>);
  const sentence = /for trying \(serve --try\): nothing leaves this machine/;
  assert.match((await cli('whoami')).stdout, sentence);
  const status = await cli('status');
  assert.match(status.stdout, sentence, status.stderr);
  const earnest = await serverWith(t, { '/me': [200, me] });
  assert.doesNotMatch((await earnest('whoami')).stdout, sentence);
});
