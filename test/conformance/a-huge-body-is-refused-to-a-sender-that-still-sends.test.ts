import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { quarterdeck } from '../harness/index.ts';

/** A client of its own: in our process the answer would be read before the sender is cut off, and the race would never show. */
const client = `
  import http from 'node:http';
  const [url, key] = process.argv.slice(1);
  for (const authorization of ['Bearer ' + key, 'Bearer wrong'])
    for (let i = 0; i < 6; i++)
      await new Promise((done) => {
        const headers = { authorization, 'content-type': 'application/json', ...(i % 2 ? { 'content-length': 8_000_000 } : {}) };
        const request = http.request(url, { method: 'POST', headers }, (response) => {
          response.on('end', () => (console.log(response.statusCode), done())).resume();
        });
        request.on('error', (error) => (console.log(error.code), done()));
        request.end(Buffer.alloc(8_000_000, ' '));
      });`;

test('a huge body is refused in words to a sender that still sends', async (t) => {
  const { url, owner } = await quarterdeck(t);
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', client, `${url}/api/v1/tokens`, owner.key],
    { timeout: 30_000 },
  );
  assert.deepEqual(stdout.trim().split('\n'), [...Array(6).fill('413'), ...Array(6).fill('401')]);
});
