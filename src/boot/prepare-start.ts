import type { Config } from '../kernel/config.ts';
import { refuseForeignFiles } from '../kernel/data/directory.ts';
import { exitCodes, Stop } from '../kernel/errors.ts';
import type { Logger } from '../kernel/log.ts';
import { refuseTryDirectory } from '../try/mark.ts';
import { type Database, openDatabase } from './database.ts';
import { checkEdge } from './edge.ts';

// The part of a start that most refusals come from. It imports little, so that a refusal does not wait for two thousand files to load.

/** A start that nothing speaks against so far. */
export interface PreparedStart {
  database: Database;
}

export interface PrepareOptions {
  /** An open database instead of the configured one. */
  given?: Database | undefined;
  /** For `serve --try`, which alone uses a directory that it made. */
  isTry?: boolean;
}

/** Refuses what can be refused with nothing started, then opens the database, or takes the one that is given. */
export async function prepareStart(config: Config, log: Logger, { given, isTry = false }: PrepareOptions = {}): Promise<PreparedStart> {
  await refuseBeforeStart(config, log, { isTry });
  return { database: given ?? (await openDatabase(config, log)) };
}

/** Refuses what can be refused with nothing started and nothing touched. */
export async function refuseBeforeStart(config: Config, log: Logger, { isTry = false } = {}): Promise<void> {
  if (!isTry) refuseTryDirectory(config.data);
  await refuseForeignFiles(config.data);
  requireAddress(config, log);
  checkEdge(config);
}

/** Links in pages and mails, and the provider's callbacks, lead to the control API: a worker beside it must be told where that is. */
function requireAddress({ roles, public_url }: Config, log: Logger) {
  if (public_url) return;
  if (roles.includes('api') && !roles.includes('registry'))
    log.warn('logins for the registry name this process, which does not serve it; set QUARTERDECK_PUBLIC_URL to where both are reached');
  if (roles.includes('api') || !roles.includes('worker')) return;
  throw new Stop(
    exitCodes.configuration,
    'a worker without the role api sends links that lead to another process; set QUARTERDECK_PUBLIC_URL to where the API is reached',
  );
}
