import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';

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
  const child = spawn(process.execPath, [program, 'proxy', document, upstream, '--errors', '--host', '127.0.0.1', '--port', '0'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  try {
    return { url: await listening(child), stop: () => stop(child) };
  } catch (error) {
    await stop(child);
    throw error;
  }
}

async function listening({ stdout, stderr }: ChildProcess): Promise<string> {
  let said = '';
  stderr!.on('data', (chunk) => (said += chunk));
  for await (const chunk of stdout!.iterator({ destroyOnReturn: false })) {
    said += chunk;
    const found = /listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(said);
    if (!found) continue;
    stdout!.resume(); // what it goes on to say must not fill the pipe
    return found[1]!;
  }
  throw new Error(`Prism did not start: ${said}`);
}

async function stop(child: ChildProcess) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}
