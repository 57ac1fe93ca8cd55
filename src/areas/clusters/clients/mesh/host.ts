import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Logger } from '../../../../kernel/log.ts';
import { readDump } from '../../rules/mesh/peers.ts';
import { type Dialers, makeDialers } from './dialers.ts';
import { ProgramFailure, run, tryRun } from './programs.ts';
import { MeshError, type MeshHost, type WantedInterface } from './types.ts';

// The interface is made in the server's own namespace, so that its UDP socket is there, and is then moved into a namespace that has nothing else.
// A process that is killed leaves both behind; the next one of this data directory takes them over, or sweeps them.

const mtu = 1_420;

export function makeMeshHost(dataDir: string, log: Logger): MeshHost {
  const prefix = `qd${hashOf(dataDir).slice(0, 5)}`;
  /** Of the namespace and of the interface: at most 15 characters. */
  const nameOf = (cluster: string) => `${prefix}${hashOf(cluster).slice(0, 8)}`;
  const dialers: Dialers = makeDialers(log);
  return {
    async apply(wanted) {
      const name = nameOf(wanted.cluster);
      try {
        if (!(await isComplete(name, wanted.address))) await make(name, wanted);
        await configure(name, wanted);
      } catch (error) {
        throw explain(error);
      }
    },
    async peers(cluster) {
      const name = nameOf(cluster);
      const dump = await tryRun('ip', inNamespace(name, 'wg', 'show', name, 'dump'));
      return dump === undefined ? undefined : readDump(dump);
    },
    namespaceOf: nameOf,
    connect: (cluster, to, signal) => dialers.connect(nameOf(cluster), to, signal),
    remove: async (cluster) => {
      dialers.end(nameOf(cluster));
      await remove(nameOf(cluster));
    },
    async sweep(held) {
      for (const name of await namespaces()) {
        if (!name.startsWith(prefix) || [...held()].some((cluster) => nameOf(cluster) === name)) continue;
        log.info({ name }, 'the interface of a mesh that this server does not hold is removed');
        await remove(name);
      }
    },
    stop: dialers.stop,
  };
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');

const inNamespace = (name: string, ...command: string[]) => ['netns', 'exec', name, ...command];

async function namespaces(): Promise<string[]> {
  const listed = await tryRun('ip', ['netns', 'list']);
  return (listed ?? '').split('\n').flatMap((line) => line.split(' ')[0] || []);
}

/** The last step of `make` switches it on, so an interface that is up is whole. */
async function isComplete(name: string, address: string): Promise<boolean> {
  const shown = await tryRun('ip', ['-n', name, '-o', '-4', 'addr', 'show', 'dev', name, 'up']);
  return (
    shown?.includes(` ${address} `) === true && (await tryRun('ip', inNamespace(name, 'wg', 'show', name, 'listen-port'))) !== undefined
  );
}

async function make(name: string, { address, port, config }: WantedInterface): Promise<void> {
  await remove(name);
  if (await isPortTaken(port))
    throw new MeshError(`UDP port ${port} is taken by another program of the server; the operator ends it, and the mesh follows by itself`);
  await run('ip', ['netns', 'add', name]);
  try {
    await makeInterface(name);
    await run('ip', ['link', 'set', name, 'netns', name]);
    await run('ip', ['-n', name, 'addr', 'add', address, 'dev', name]);
    await run('ip', inNamespace(name, 'wg', 'setconf', name, '/dev/stdin'), config);
    // Between nodes; there is nothing else in this namespace to forward to.
    const settings = 'echo 1 > /proc/sys/net/ipv4/ip_forward; echo 0 > /proc/sys/net/ipv4/conf/all/send_redirects';
    await run('ip', inNamespace(name, 'sh', '-c', settings));
    await run('ip', ['-n', name, 'link', 'set', name, 'mtu', String(mtu), 'up']);
  } catch (error) {
    await remove(name);
    throw error;
  }
}

/** By the kernel; where it has no WireGuard, by wireguard-go, which goes on in the background until its interface is gone. */
async function makeInterface(name: string): Promise<void> {
  try {
    await run('ip', ['link', 'add', name, 'type', 'wireguard']);
  } catch (error) {
    if (!(error instanceof ProgramFailure) || isForbidden(error)) throw error;
    await run('wireguard-go', [name]);
    // It answers once it has found its interface, which it looks for by name here: one that was moved before that ends it.
    await run('wg', ['show', name, 'listen-port']);
  }
}

const configure = (name: string, { config }: WantedInterface) => run('ip', inNamespace(name, 'wg', 'syncconf', name, '/dev/stdin'), config);

/** The interface goes with its namespace. One that was not moved yet is in the server's own. */
async function remove(name: string): Promise<void> {
  if ((await namespaces()).includes(name)) {
    await tryRun('ip', ['-n', name, 'link', 'del', name]);
    await tryRun('ip', ['netns', 'del', name]);
  }
  await tryRun('ip', ['link', 'del', name]);
}

/** Read from the kernel's own list: to bind the port would take it for a moment. */
async function isPortTaken(port: number): Promise<boolean> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const tables = await Promise.all(['udp', 'udp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')));
  return tables.some((table) => table.split('\n').some((line) => line.trim().split(/ +/)[1]?.endsWith(suffix)));
}

const isForbidden = ({ message }: Error) => /not permitted|permission denied/i.test(message);

function explain(error: unknown): MeshError {
  if (error instanceof MeshError) return error;
  const { message } = error as Error;
  return isForbidden(error as Error)
    ? new MeshError(
        'the server that holds the cluster may not make network interfaces; the operator runs it as root with CAP_NET_ADMIN and CAP_SYS_ADMIN',
        { cause: error },
      )
    : new MeshError(`its interface could not be made (${message})`, { cause: error });
}
