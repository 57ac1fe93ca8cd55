import { agentRegistry } from '../areas/uptime/index.ts';
import { ownServer } from '../commands/own-server.ts';
import { audit, operator } from '../identity/audit.ts';
import { installation } from './organization.ts';
import { type OutputOptions, printJson, printRows } from './output.ts';
import type { Session } from './session.ts';

export async function listAgents({ db }: Session, o: OutputOptions) {
  const found = await db.read(agentRegistry.listAgents);
  const shown = found.map(({ agent, instance }) => ({
    id: agent?.id ?? '(server)',
    vantage: agent?.vantage ?? instance?.vantage,
    name: agent?.name ?? 'a server’s own prober',
    state: instance ? (instance.live ? (instance.degraded ? 'degraded' : 'reporting') : 'silent') : 'never seen',
    'last seen': instance?.seen_at,
    'clock off by': instance ? secondsOff(instance.skew_ms) : undefined,
    version: instance?.version,
  }));
  printRows(o, shown, 'no agent is registered; make one with `quarterdeck admin agents create`');
}

/** A clock that is less than 0.05 s behind is no `-0.0 s`. */
const secondsOff = (ms: number) => `${(Math.round(ms / 100) / 10 || 0).toFixed(1)} s`;

interface Wanted extends OutputOptions {
  vantage: string;
  label?: string;
  name?: string;
}

/** The key alone goes to standard output, so that a script can take it from there. */
export async function createAgent({ db, config }: Session, o: Wanted) {
  const { key, id, vantage } = await db.write(async (tx) => {
    const made = await agentRegistry.createAgent(tx, o);
    await audit(tx, operator(installation), 'uptime.agent.create', made, { vantage: made.vantage, name: made.name });
    return made;
  });
  const server = config.public_url || (await ownServer()).url;
  if (o.json) return printJson({ id, vantage, token: key, server });
  console.error(`agent ${id} of the vantage ${vantage}. Run it there, with the token below, which is shown only now:`);
  console.error(`  QUARTERDECK_PROBE_TOKEN=… quarterdeck probe --server ${server}`);
  console.log(key);
}

export async function revokeAgent({ db }: Session, id: string) {
  const { vantage } = await db.write(async (tx) => {
    const revoked = await agentRegistry.revokeAgent(tx, id);
    await audit(tx, operator(installation), 'uptime.agent.revoke', revoked, { vantage: revoked.vantage, name: revoked.name });
    return revoked;
  });
  console.log(`agent ${id} of the vantage ${vantage} is revoked; what it reports is refused from now on`);
}
