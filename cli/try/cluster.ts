import { request } from 'node:https';
import { commandName } from '../command-name.ts';
import { exitCodes, Failure } from '../exit.ts';
import { ensure, type Trial, waitFor } from './support.ts';

const name = 'try';

/** Makes a cluster, waits until it is ready, and asks its API for the namespaces with the credentials of its kubeconfig, against its certificate. */
export async function tryCluster(trial: Trial): Promise<void> {
  const { api, say } = trial;
  await ensure(trial, `the cluster ${name}`, {
    find: async () => (await api.clusters.listClusters()).clusters.find((cluster) => cluster.name === name),
    make: () => api.clusters.createCluster({ name, tier: 'small' }),
  });
  const cluster = await waitFor(trial, 'the cluster to be ready', async () => {
    const seen = await api.clusters.getCluster(name);
    if (seen.phase === 'failed')
      throw new Failure(exitCodes.refused, `the cluster ${name} failed; see ${commandName} clusters get ${name}`);
    return seen.phase === 'ready' ? seen : undefined;
  });
  say(`✓ ${name} (${cluster.orchestratorVersion}) is ready at ${cluster.endpoint ?? 'its endpoint'}`);
  const { kubeconfig } = await api.clusters.getClusterKubeconfig(name);
  const namespaces = await listNamespaces(readAccess(kubeconfig));
  say(`✓ its API answers: the namespaces are ${namespaces.join(', ')}`);
  say(`\nGo on with kubectl:
  ${commandName} clusters kubeconfig get ${name} --only kubeconfig > ${name}.yaml
  kubectl --kubeconfig ${name}.yaml get namespaces`);
}

interface ClusterAccess {
  server: string;
  ca: Buffer;
  token: string;
}

/** The values of a kubeconfig of ours, which has one cluster and one user. */
function readAccess(kubeconfig: string): ClusterAccess {
  const lines = kubeconfig.split('\n').map((line) => line.trim());
  const read = (key: string): string => {
    const value = lines
      .find((line) => line.startsWith(`${key}:`))
      ?.slice(key.length + 1)
      .trim()
      .replaceAll('"', '');
    if (!value) throw new Failure(exitCodes.refused, `the kubeconfig has no ${key}`);
    return value;
  };
  return { server: read('server'), ca: Buffer.from(read('certificate-authority-data'), 'base64'), token: read('token') };
}

const maxAnswerBytes = 4_000_000;
const answerMs = 10_000;

/** The whole answer has this long: a connection on which a byte comes now and then is never idle. */
export async function listNamespaces({ server, ca, token }: ClusterAccess, withinMs = answerMs): Promise<string[]> {
  const target = new URL('/api/v1/namespaces', server);
  const { status, text } = await new Promise<{ status: number; text: string }>((resolve, reject) => {
    const signal = AbortSignal.timeout(withinMs);
    const asking = request(target, { ca, headers: { authorization: `Bearer ${token}` }, signal }, (answer) => {
      let received = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        received += chunk;
        if (received.length > maxAnswerBytes) answer.destroy(new Error('the answer is too large'));
      });
      answer.on('error', reject).on('end', () => resolve({ status: answer.statusCode ?? 0, text: received }));
    });
    asking.on('error', reject).end();
  }).catch((error: Error) => {
    throw new Failure(
      exitCodes.unavailable,
      `the cluster’s API at ${target.origin} did not answer: ${error.name === 'AbortError' ? `not within ${withinMs / 1000} s` : error.message}`,
    );
  });
  if (status !== 200) throw new Failure(exitCodes.refused, `the cluster’s API answered ${status}: ${text.slice(0, 300)}`);
  return (JSON.parse(text) as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name);
}
