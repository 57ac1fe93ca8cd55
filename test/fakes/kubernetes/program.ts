import { setTimeout as sleep } from 'node:timers/promises';
import { type Misbehaviour, type ProgramName, readMisbehaviour } from './misbehaviour.ts';

// What every fake program does when it starts and when it is asked to end.

export interface Program {
  name: ProgramName;
  version: string;
  /** As it is said now. */
  misbehaviour(): Promise<Misbehaviour>;
}

/** Answers --version, then misbehaves as far as it is told to. `end` is what a SIGTERM does. */
export async function beginProgram(name: ProgramName, end: () => Promise<void> | void): Promise<Program> {
  const version = process.env.FAKE_VERSION ?? 'v0.0.0';
  if (process.argv.slice(2).some((flag) => ['--version', '-v', 'version'].includes(flag) || flag === '--version=true')) {
    process.stdout.write(sayVersion[name]?.(version) ?? `Kubernetes ${version}\n`);
    process.exit(0);
  }
  const misbehaviour = () => readMisbehaviour(process.env.FAKE_BINARIES ?? '', name, version);
  const { slowStartMs, crashAtStart, crashAfterMs, deaf } = await misbehaviour();
  process.on('SIGTERM', () => {
    if (deaf) return;
    // Whatever is stuck must not keep a test waiting.
    setTimeout(() => process.exit(0), 2_000).unref();
    void Promise.resolve(end()).then(() => process.exit(0));
  });
  if (crashAtStart) crash();
  if (crashAfterMs !== undefined) setTimeout(crash, crashAfterMs);
  if (slowStartMs) await sleep(slowStartMs);
  while ((await misbehaviour()).heldStart) await sleep(50);
  return { name, version, misbehaviour };
}

const sayVersion: Partial<Record<ProgramName, (version: string) => string>> = {
  kine: (version) => `kine version ${version} (fake)\n`,
  etcd: (version) => `etcd Version: ${version}\n`,
  etcdutl: (version) => `etcdutl version: ${version}\n`,
};

function crash(): never {
  process.stderr.write('panic: told to crash\n');
  process.exit(2);
}
