// The prober as a separate program: `quarterdeck probe` becomes it, and a server with the role `prober` starts it as a child. It imports
// neither the database nor the command line, holds no credential but its own, and stays small.
import { Stop } from '../../kernel/errors.ts';
import { parseAllow } from '../../kernel/guard/index.ts';
import { makeLog } from '../../kernel/log.ts';
import type { ProberSettings } from '../../protocols/prober-settings.ts';
import { type Agent, startAgent } from './agent.ts';
import { proberGuard } from './checks/guard.ts';
import { systemClock } from './clock.ts';
import { holdDirectory } from './delivery/instance.ts';
import { isOverheard, openLink } from './delivery/link.ts';
import { makeStateStore, noStateStore } from './delivery/saved-state.ts';
import { parseCanary } from './health/canaries.ts';
import { readSettings } from './settings.ts';

/** Longer than any check may take. */
const stopGraceMs = 31_000;
/** With a server that stops or was killed, the prober waits only briefly. */
const shortStopGraceMs = 1_500;

async function start(settings: ProberSettings): Promise<{ stop(): Promise<void> }> {
  const log = makeLog(settings.logLevel);
  const canaries = settings.canaries.map(parseCanary);
  const guard = proberGuard({ allow: parseAllow(settings.allowPrivateCidrs), dnsServers: settings.dnsServers });
  const link = openLink(settings);
  if ('server' in settings && isOverheard(settings.server))
    log.warn('the token, what checks are made with, and the results travel in the clear; use an https:// server');
  const directory = await holdDirectory(settings.bufferDir);
  const stateStore = 'token' in settings ? makeStateStore({ dir: settings.bufferDir, token: settings.token, log }) : noStateStore;
  let agent: Agent;
  try {
    agent = await startAgent({
      link,
      guard,
      clock: systemClock,
      log,
      bufferDir: settings.bufferDir,
      canaries,
      version: settings.version,
      stateStore,
    });
  } catch (error) {
    await directory.release();
    throw error;
  }
  return {
    async stop() {
      log.info('stopping');
      await agent.stop(settings.endWithStdin ? shortStopGraceMs : stopGraceMs);
      await directory.release();
    },
  };
}

const failed = (error: unknown): never => {
  if (error instanceof Stop) console.error(`quarterdeck: ${error.message}`);
  else console.error(error);
  process.exit(error instanceof Stop ? error.exitCode : 1);
};

try {
  const settings = readSettings(process.env);
  const running = start(settings);
  let since: number | undefined;
  const end = () => {
    // The same Ctrl-C may arrive from the terminal and from a parent. Asked again later: do not wait for anybody.
    if (since !== undefined) return performance.now() - since > 1_000 ? process.exit(130) : undefined;
    since = performance.now();
    running.then((prober) => prober.stop()).then(() => process.exit(0), failed);
  };
  process.on('SIGINT', end).on('SIGTERM', end);
  if (settings.endWithStdin) process.stdin.on('end', end).on('error', end).resume();
  await running;
} catch (error) {
  failed(error);
}
