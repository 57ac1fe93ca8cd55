import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { mainProgram } from './built.ts';
import { freePort } from './free-port.ts';
import { startServer } from './process.ts';
import { compileCache, quickFlags } from './quick-start.ts';
import { findMismatch, readTour, type Step } from './tour-text.ts';

const root = join(import.meta.dirname, '..', '..');
const lineTimeoutMs = 60_000;
/** A step that only looks is repeated for so long: its text says "within seconds". */
const lookAgainMs = 20_000;

export interface Tourist {
  /** Runs a Markdown file of the repository from top to bottom; `has` tells whether a program that npm does not bring may be used. */
  follow(t: TestContext, file: string, has?: (program: string) => boolean): Promise<void>;
}

/** A server as `npm start -- --try` starts it, and a directory beside its data in which texts are followed. */
export async function startTourist(t: TestContext): Promise<Tourist> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'qdt-')));
  await chmod(dir, 0o755);
  const door = async () => `127.0.0.1:${await freePort()}`;
  const env = { QUARTERDECK_SMTP_SUBMISSION: await door(), QUARTERDECK_SMTP_INBOUND: await door() };
  const { server, end } = startServer({ dir, dataDir: join(dir, 'data-try'), args: ['serve', '--try'], env });
  t.after(async () => {
    // A stop takes the database along.
    await server.stopped();
    await end();
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  });
  const program = [process.execPath, ...quickFlags, mainProgram()].map((word) => `'${word}'`).join(' ');
  await writeFile(join(dir, 'quarterdeck'), `#!/bin/sh\nexec ${program} "$@"\n`, { mode: 0o755 });
  const { host } = new URL(await server.ready);
  const real = (text: string) => text.replaceAll('127.0.0.1:8080', host);

  return {
    async follow(test, file, has = () => false) {
      // What @last means, and where a client is logged in, is a matter of each reader.
      const home = await mkdtemp(join(dir, 'home-'));
      const shell = openShell(dir, home);
      try {
        for (const step of readTour(await readFile(join(root, file), 'utf8')).steps) {
          const missing = step.programs.filter((name) => !has(name));
          if (missing.length) test.diagnostic(`${file}:${step.line} needs ${missing.join(', ')}`);
          else await take(shell, { ...step, command: real(step.command), shows: step.shows.map(real) }, `${file}:${step.line}`);
        }
      } finally {
        await shell.close();
      }
    },
  };
}

/** One step, with the outcome that the text promises. */
async function take(shell: Shell, step: Step, at: string): Promise<void> {
  const began = performance.now();
  for (;;) {
    const { code, output } = await shell.run(step.command);
    const wrong = findMismatch(step, code, output);
    if (!wrong) return;
    if (!step.isLook || performance.now() - began > lookAgainMs) assert.fail(`${at}: ${step.command}\n${wrong}; it printed:\n${output}`);
    await sleep(250);
  }
}

interface Shell {
  run(command: string): Promise<{ code: number; output: string }>;
  close(): Promise<void>;
}

/** One session for a whole text, so that its variables stay. Nothing of the caller's settings or home reaches it. */
function openShell(dir: string, home: string): Shell {
  const { PATH = '', LANG = 'C.UTF-8' } = process.env;
  const env = { PATH, LANG, HOME: home, XDG_RUNTIME_DIR: home, ...compileCache };
  const child = spawn('sh', [], { cwd: dir, env, stdio: ['pipe', 'pipe', 'inherit'] });
  let said = '';
  let heard = () => {};
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    heard();
  });
  const ended = once(child, 'close');
  let count = 0;
  return {
    async run(command) {
      const mark = `--- end of step ${++count}: `;
      await writeFile(join(home, 'step'), `${command}\n`);
      said = '';
      // No step may read the commands of the next ones as its input.
      child.stdin.write(`. '${home}/step' </dev/null 2>&1; printf '\\n%s%s\\n' '${mark}' "$?"\n`);
      const limit = AbortSignal.timeout(lineTimeoutMs);
      const isLate = once(limit, 'abort');
      while (!said.endsWith('\n') || !said.includes(mark)) {
        const more = new Promise<void>((resolve) => {
          heard = resolve;
        });
        await Promise.race([more, ended, isLate]);
        if (limit.aborted || child.exitCode !== null) throw new Error(`${command}\ndid not end well in time; it printed:\n${said}`);
      }
      const at = said.indexOf(mark);
      return { code: Number(said.slice(at + mark.length)), output: said.slice(0, at) };
    },
    async close() {
      child.stdin.end();
      await ended;
    },
  };
}
