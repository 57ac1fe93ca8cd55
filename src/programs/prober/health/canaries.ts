import { connect } from 'node:net';
import { exitCodes, Stop } from '../../../kernel/errors.ts';
import { guarded } from '../../../kernel/faults/guarded.ts';
import type { Clock } from '../clock.ts';

export interface Canary {
  readonly host: string;
  readonly port: number;
}

/** `host:port`, `[address]:port`. */
export function parseCanary(text: string): Canary {
  const [, bracketed, name, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? name;
  if (host !== undefined && Number(port) > 0 && Number(port) <= 65_535) return { host, port: Number(port) };
  throw new Stop(exitCodes.configuration, `the canary "${text}" is not host:port; write it like 192.0.2.1:443`);
}

const intervalMs = 15_000;
const connectTimeoutMs = 3_000;
const minGapMs = 1_000;

/** Whether a TCP connection can be opened. The operator chose the address, so it bypasses the guard, and the system resolves its name. */
const answers = ({ host, port }: Canary): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (isThere: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(isThere);
    };
    const timer = setTimeout(() => end(false), connectTimeoutMs);
    socket
      .once(
        'connect',
        guarded('prober.health.canaries.connect', socket, () => end(true)),
      )
      .on(
        'error',
        guarded('prober.health.canaries.error', socket, () => end(false)),
      );
  });

export interface Canaries {
  /** No canary answers: the prober itself is cut off. Always false without canaries. */
  areSilent(): boolean;
  /** Checks the canaries now instead of at the next interval: a check has begun to fail. */
  ask(): void;
  stop(): void;
}

export function watchCanaries(clock: Clock, canaries: readonly Canary[], ask = answers): Canaries {
  let isSilent = false;
  let isStopped = canaries.length === 0;
  let askedAt = Number.NEGATIVE_INFINITY;
  let cancel = () => {};
  const round = async () => {
    cancel();
    askedAt = clock.now();
    cancel = clock.at(askedAt + intervalMs, round);
    const heard = await Promise.all(canaries.map(ask));
    if (!isStopped) isSilent = !heard.includes(true);
  };
  if (!isStopped) void round();
  return {
    areSilent: () => isSilent,
    ask: () => {
      if (!isStopped && clock.now() - askedAt >= minGapMs) void round();
    },
    stop: () => {
      isStopped = true;
      cancel();
    },
  };
}
