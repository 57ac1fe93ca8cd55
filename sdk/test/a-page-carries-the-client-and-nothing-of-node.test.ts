import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { type BuildOptions, build } from 'esbuild';
import type * as browser from '../browser.ts';
import { answering } from './servers.ts';

const entry = (name: string) => fileURLToPath(new URL(`../${name}.ts`, import.meta.url));
const forBrowsers: BuildOptions = { bundle: true, platform: 'browser', write: false, metafile: true, logLevel: 'silent', minify: true };

test('the client is bundled for browsers without Node, and its tables are chunks of their own', async () => {
  const { outputFiles, metafile } = await build({
    ...forBrowsers,
    entryPoints: [entry('browser')],
    outdir: '/out',
    format: 'esm',
    splitting: true,
  });
  const inputs = Object.keys(metafile!.inputs);
  assert.deepEqual(
    inputs.filter((file) => /node:|node_modules|sdk\/(commands|things)\.ts$/.test(file)),
    [],
  );
  const [main, ...chunks] = [...outputFiles!].sort((a, b) => Number(b.path.endsWith('browser.js')) - Number(a.path.endsWith('browser.js')));
  assert.ok(main!.text.includes('idempotency-key') && !main!.text.includes('"words"'));
  assert.ok(!main!.text.includes('words:'), 'the first script does not carry the command table');
  assert.ok(chunks.some(({ text }) => text.includes('List registries')));

  await assert.rejects(
    build({ ...forBrowsers, entryPoints: [entry('commands')], outdir: '/out' }),
    /node:fs/,
    'the command line’s door reads files',
  );
});

test('in a page the client names organization and background, and keeps what a refusal says', async (t) => {
  const arrived: IncomingHttpHeaders[] = [];
  const url = await answering(t, (request, response) => {
    arrived.push(request.headers);
    const refused = { 'content-type': 'application/json', 'retry-after': '60', 'x-error-code': 'rate_limited', 'x-request-id': 'req_1' };
    if (request.url!.endsWith('/me')) response.writeHead(429, refused).end('{"error":"too many requests"}');
    else response.writeHead(200, { 'content-type': 'application/json' }).end('{"tokens":[]}');
  });
  const { quarterdeck, loadCommands, loadGuards, loadThings, operations } = await inPage();
  let isAsked = true;
  const api = quarterdeck({ url, organization: 'acme', background: () => !isAsked });

  await api.tokens.listTokens();
  await api.tokens.listTokens({}, { background: true });
  isAsked = false;
  await api.tokens.listTokens();
  await api.tokens.listTokens({}, { background: false });
  assert.deepEqual(
    arrived.map((headers) => [headers['x-organization'], headers['x-background'], headers.authorization]),
    [undefined, '1', '1', undefined].map((background) => ['acme', background, undefined]),
  );
  await assert.rejects(api.organization.getMe(), (e: browser.ApiError) => {
    assert.deepEqual([e.status, e.code, e.requestId, e.retryAfter, e.message], [429, 'rate_limited', 'req_1', 60, 'too many requests']);
    return true;
  });

  const { commands } = await loadCommands();
  const list = commands.find(({ operation }) => operation === 'listTokens')!;
  assert.deepEqual([list.words.join(' '), operations[list.area]![list.operation]!.path], ['tokens list', '/tokens']);
  assert.equal((await loadGuards())['listTokens']!.permission, 'member');
  assert.equal((await loadThings()).things['monitor']!.word, 'monitor');
});

test('without a token the cookie goes to the page’s own server, and none goes beside a token', async () => {
  const sent: RequestInit[] = [];
  const ask: typeof fetch = async (_, init) => {
    sent.push(init!);
    return new Response('{}', { headers: { 'content-type': 'application/json' } });
  };
  const { quarterdeck } = await inPage();
  await quarterdeck({ url: 'https://quarterdeck.example', fetch: ask }).organization.getMe();
  await quarterdeck({ url: 'https://quarterdeck.example', fetch: ask, token: 'qd_pat_x' }).organization.getMe();
  assert.deepEqual(
    sent.map(({ credentials, redirect }) => [credentials, redirect]),
    [
      ['same-origin', 'error'],
      ['omit', 'error'],
    ],
  );
});

/** The bundle, run with what a page has and nothing more. */
async function inPage(): Promise<typeof browser> {
  const { outputFiles } = await build({ ...forBrowsers, entryPoints: [entry('browser')], format: 'iife', globalName: 'sdk' });
  const page = createContext({ fetch, URLSearchParams, AbortController, AbortSignal, crypto, setTimeout, clearTimeout });
  return runInContext(`${outputFiles![0]!.text};sdk`, page) as typeof browser;
}
