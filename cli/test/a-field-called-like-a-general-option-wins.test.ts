import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { Command as Commander } from 'commander';
import type { Command } from '../../sdk/commands.ts';
import { addCommand } from '../command.ts';

test('a field called like a general option wins, and the general one still works before the area', async (t) => {
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    if (request.method === 'POST') bodies.push(body);
    response.writeHead(204).end();
  });
  t.after(() => server.close());
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const hook: Command = {
    words: ['hooks', 'create'],
    area: 'tokens',
    operation: 'createToken',
    summary: 'Make a hook',
    params: [],
    fields: ['url', 'body'].map((name) => ({ name, flag: name, type: 'string' })),
    body: 'object',
    columns: {},
  };
  const program = new Commander('quarterdeck').option('--url <url>').option('--token <token>').enablePositionalOptions();
  addCommand(program.command('hooks'), hook, { env: {}, version: '0', server: () => assert.fail('the server was named') });
  const typed = ['--url', at, '--token', 'x', 'hooks', 'create', '--url', 'https://hook.example', '--body', 'hello'];
  await program.parseAsync(typed, { from: 'user' });
  assert.deepEqual(bodies, ['{"url":"https://hook.example","body":"hello"}']);
});
