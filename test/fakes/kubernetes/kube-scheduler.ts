import { openClient } from './client.ts';
import { parseFlags, schedulerFlags } from './flags.ts';
import { beginProgram } from './program.ts';
import { serveHealth } from './serve-health.ts';

// Every pod goes to the first node that is ready.

const argv = process.argv.slice(2);
const program = await beginProgram('kube-scheduler', () => {});
const flags = parseFlags('kube-scheduler', schedulerFlags, argv);
const client = openClient(flags);
await serveHealth(program, flags, 10_259);

client.follow('/api/v1/pods', async ({ metadata, spec }) => {
  if (spec?.nodeName || metadata.deletionTimestamp) return;
  const { body } = await client.ask('GET', '/api/v1/nodes');
  const ready = (body.items ?? []).find((node: { status?: { conditions?: { type: string; status: string }[] } }) =>
    node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'),
  );
  const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}/binding`;
  if (ready) await client.ask('POST', path, { target: { kind: 'Node', name: ready.metadata.name } });
});
