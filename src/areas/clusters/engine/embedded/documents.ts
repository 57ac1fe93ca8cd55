import { noSuchPath } from '../../rules/kubernetes/status.ts';
import type { Call, Reply } from './call.ts';
import type { Cluster } from './cluster.ts';

export async function answerDocument(cluster: Cluster, { asked: { path } }: Call): Promise<Reply> {
  if (['/healthz', '/livez', '/readyz'].includes(path)) return { status: 200, body: 'ok' };
  if (path === '/version') return { status: 200, body: { gitVersion: cluster.options.version() } };
  throw noSuchPath();
}
