import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { freePort } from '../harness/free-port.ts';
import { eventually } from '../harness/process.ts';

export interface Prism {
  url: string;
  stop(): Promise<void>;
}

/**
 * Stoplight Prism between a caller and a server: it holds every request and every answer against an OpenAPI document with code that
 * is not ours, and answers 500 where the server breaks it. The document is a file: Prism cannot fetch one under this Node.
 */
export async function startPrism(document: string, upstream: string): Promise<Prism> {
  const program = createRequire(import.meta.url).resolve('@stoplight/prism-cli');
  const port = await freePort(); // it would tell its own in its log, where each request costs it more than to judge it
  const place = ['--host', '127.0.0.1', '--port', String(port), '--verboseLevel', 'error'];
  const child = spawn(process.execPath, [program, 'proxy', document, upstream, '--errors', ...place], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  try {
    await untilListening(child, port);
    return { url: `http://127.0.0.1:${port}`, stop: () => stop(child) };
  } catch (error) {
    await stop(child);
    throw error;
  }
}

async function untilListening(child: ChildProcess, port: number): Promise<void> {
  let said = '';
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (chunk) => (said += chunk));
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`Prism did not start: ${said}`)));
  ended.catch(() => {});
  const isThere = async () => {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect').finally(() => socket.destroy());
    return true;
  };
  await Promise.race([eventually(isThere, { withinMs: 60_000, everyMs: 100 }), ended]);
}

async function stop(child: ChildProcess) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}
