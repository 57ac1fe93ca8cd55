import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { quarterdeck } from '../../test/harness/index.ts';
import { cliHere, runHere } from './cli-context.ts';
import { cliOf, type Ran, run } from './support.ts';

const failed = ({ code, stdout, stderr }: Ran, expected: number, sentence: RegExp) => {
  assert.equal(stderr.trimEnd().split('\n').length, 1, `one line, not: ${stderr}`);
  assert.match(stderr, sentence);
  assert.deepEqual({ code, stdout }, { code: expected, stdout: '' });
};
const id = String.raw` \(request id req_[\w-]+\)\n$`;

test('what the server refuses ends with its sentence, the request id and a code of its own', async (t) => {
  const { url, owner, narrowed } = await quarterdeck(t);
  const cli = cliHere(url, owner.key);
  const viewer = await narrowed(owner, [{ role: 'uptime.viewer' }]);
  await owner.post('/uptime/services', { name: 'web' });

  failed(
    await cliOf(url, `${owner.key.slice(0, -1)}!`)('tokens', 'list'),
    20,
    new RegExp(`^quarterdeck: unauthenticated: .+; the token used is QUARTERDECK_TOKEN${id}`),
  );
  failed(await cliHere(url, viewer.key)('uptime', 'services', 'create', '--name', 'x'), 21, new RegExp(`^quarterdeck: .+${id}`));
  failed(
    await cli('tokens', 'delete', 'tok_nobody'),
    22,
    new RegExp(`^quarterdeck: unknown token; .quarterdeck tokens list. shows what there is${id}`),
  );
  failed(await cli('uptime', 'services', 'create', '--name', 'web'), 23, new RegExp(`^quarterdeck: .+${id}`));
  failed(
    await cli('tokens', 'create', '--name', 'x', '--expires-in', '1'),
    24,
    new RegExp(`^quarterdeck: expiresIn must be at least 60${id}`),
  );
});

test('an unreachable server and a failing one have other exit codes than a refusal', async (t) => {
  const troubled = createServer((_, response) => response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>\u001b[31mno'));
  t.after(() => troubled.close());
  await new Promise<void>((listening) => troubled.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(troubled.address() as AddressInfo).port}`;
  failed(await run(['whoami', '--url', url, '--token', 'x']), 25, /^quarterdeck: the server answered 502 without saying why\n$/);
  await new Promise((closed) => troubled.close(closed));
  failed(
    await run(['whoami', '--url', url, '--token', 'x']),
    25,
    /^quarterdeck: cannot reach http:\S+ \(ECONNREFUSED\); is the server running there\?\n$/,
  );
});

test('without a token nothing is asked', async () => {
  failed(
    await run(['tokens', 'list', '--url', 'https://quarterdeck.invalid']),
    20,
    /^quarterdeck: no token for https:\/\/quarterdeck.invalid: `quarterdeck login https:\/\/quarterdeck.invalid` gets one; in a script set QUARTERDECK_URL and QUARTERDECK_TOKEN\n$/,
  );
});

test('wrong usage is told before anything is sent', async () => {
  const at = ['--url', 'http://127.0.0.1:9', '--token', 'x'];
  const cases: [string[], RegExp][] = [
    [['tokens', 'create'], /^quarterdeck: --name is missing; see quarterdeck tokens create --help\n$/],
    [['iam', 'grants', 'create', '--role', 'owner', '--body', '{}'], /^quarterdeck: --subject is missing;/],
    [['tokens', 'list', '--limit', 'many'], /^quarterdeck: --limit takes a whole number, found "many"\n$/],
    [
      ['tokens', 'create', '--name', 'x', '--scope', 'rule=owner'],
      /^quarterdeck: --scope takes key=value pairs or JSON; its keys are role, resourceIds; found "rule=owner"\n$/,
    ],
    [['tokens', 'create', '--body', '{"name"'], /^quarterdeck: --body is not valid JSON; give JSON, @file or - for standard input\n$/],
    [['tokens', 'create', '--body', '@nowhere.json'], /^quarterdeck: nowhere.json cannot be read \(ENOENT\)\n$/],
    [['tokens', 'delete', '..'], /^quarterdeck: <id> names nothing\n$/],
  ];
  for (const [args, sentence] of cases) failed(await runHere([...args, ...at]), 2, sentence);
  failed(await run([...cases[0]![0], ...at]), 2, cases[0]![1]);
  failed(
    await runHere(['whoami', '--url', 'localhost:8080']),
    2,
    /^quarterdeck: the server's URL must begin with http:\/\/ or https:\/\/, found "localhost:8080"\n$/,
  );
});

test('what cannot be typed is answered by where to look', async () => {
  const cases: [string[], RegExp][] = [
    [['tokens', 'delete'], /^quarterdeck: missing required argument 'id'\n\(see quarterdeck tokens delete --help\)\n$/],
    [['tokens', 'list', '--lmit', '3'], /^quarterdeck: unknown option '--lmit'\n\(Did you mean --limit\?\)\n/],
    [
      ['organization', 'members', 'update', 'u', '--role', 'king'],
      /^quarterdeck: --role cannot be 'king'; it is one of owner, admin, member\n/,
    ],
    [['open', 'stauts'], /^quarterdeck: page cannot be 'stauts'; it is one of [^\n]+\n\(Did you mean status\?\)\n/],
    [['token'], /^quarterdeck: unknown command 'token'\n\(Did you mean tokens\?\)\n/],
    [['tokens'], /^Usage: quarterdeck tokens /],
  ];
  const [first] = cases;
  for (const [told, { code, stdout, stderr }] of [
    [first![1], await run(first![0])] as const,
    ...(await Array.fromAsync(cases, async ([args, its]) => [its, await runHere(args)] as const)),
  ]) {
    assert.match(stderr, told);
    assert.deepEqual({ code, stdout }, { code: 2, stdout: '' });
  }
});
