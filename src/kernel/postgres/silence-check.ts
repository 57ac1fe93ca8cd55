import { exitCodes, Stop } from '../errors.ts';
import type { Log } from './events.ts';
import type { PostgresPaths } from './paths.ts';
import type { Postmaster } from './postmaster.ts';

const logAfterMs = 2_000;
const maxSilenceMs = 30_000;

/**
 * A server that is alive but does not accept connections yet: a long recovery answers, and may take its time; silence is limited to 30 s.
 */
export function makeSilenceCheck(paths: PostgresPaths, log: Log): (server: Postmaster, away: Error | undefined) => void {
  const began = performance.now();
  let silentSince: number | undefined;
  let isLogged = false;

  return (server, away) => {
    const now = performance.now();
    const answered = (away as { code?: string } | undefined)?.code?.startsWith('57P') ?? false;
    silentSince = answered ? undefined : (silentSince ?? now);
    if (!isLogged && now - began > logAfterMs) {
      isLogged = true;
      log({ event: 'postgres.waiting', pid: server.pid, reason: away?.message ?? 'it has not opened its socket yet' });
    }
    if (silentSince === undefined || now - silentSince < maxSilenceMs) return;
    throw new Stop(
      exitCodes.databaseUnreachable,
      `PostgreSQL (pid ${server.pid}) runs on ${paths.cluster} but does not answer; end it with \`kill -INT ${server.pid}\` and start again`,
    );
  };
}
