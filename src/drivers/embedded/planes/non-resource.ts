import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import { ApiError, noSuchPath } from '../../status.ts';
import type { Call, Reply } from '../engine/call.ts';
import type { Cluster } from '../engine/cluster.ts';
import { requireSpace } from '../engine/read.ts';
import { aggregatedDiscovery, coreVersions, findGroup, listGroups, listResources } from '../rules/discovery.ts';
import { openApiIndex, openApiOf } from '../rules/openapi.ts';

// Paths that are no resources: health, version, discovery, OpenAPI, OIDC discovery.

type Handler = (cluster: Cluster, call: Call) => Reply | Promise<Reply>;
const reply = (body: unknown): Reply => ({ status: 200, body });

/** Ready as long as the cluster's objects can be read from the database. */
const isReady: Handler = async (cluster) => {
  await cluster.app.db.read((tx) => requireSpace(tx, cluster));
  return reply('ok');
};

const handlers: Readonly<Record<string, Handler>> = {
  '/': () => reply({ paths: ['/api', '/api/v1', '/apis', '/healthz', '/livez', '/openapi/v3', '/readyz', '/version'] }),
  '/healthz': isReady,
  '/readyz': isReady,
  '/livez': () => reply('ok'),
  '/version': (cluster) => reply(versionOf(cluster)),
  '/api': (_cluster, call) => replyAggregatedDiscovery(call, true) ?? reply(coreVersions()),
  '/apis': (_cluster, call) => replyAggregatedDiscovery(call, false) ?? reply(listGroups()),
  '/openapi/v3': () => reply(openApiIndex(openApiHash())),
  '/.well-known/openid-configuration': ({ options: { serviceAccount } }) =>
    reply({
      issuer: serviceAccount.issuer,
      jwks_uri: `${serviceAccount.issuer}/openid/v1/jwks`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [algorithmOf(serviceAccount.privateKeyPem)],
    }),
  '/openid/v1/jwks': ({ options: { serviceAccount } }) => {
    const key = createPublicKey(createPrivateKey(serviceAccount.privateKeyPem)).export({ format: 'jwk' });
    return reply({ keys: [{ ...key, use: 'sig', alg: algorithmOf(serviceAccount.privateKeyPem) }] });
  },
};

const algorithmOf = (pem: string) => (createPrivateKey(pem).asymmetricKeyType === 'rsa' ? 'RS256' : 'ES256');

function withoutSlashes(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === '/') end--;
  return path.slice(0, end);
}

export async function answerNonResource(cluster: Cluster, call: Call): Promise<Reply> {
  const { verb } = call.requestInfo;
  const path = withoutSlashes(call.requestInfo.path);
  if (verb !== 'get' && verb !== 'head')
    throw new ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
  const make = Object.hasOwn(handlers, path) ? handlers[path] : undefined;
  if (make) return make(cluster, call);
  if (/^\/(healthz|livez|readyz)\/ping$/.test(path)) return reply('ok');
  const found = findByPath(path);
  if (found === undefined) throw noSuchPath();
  return reply(found);
}

function findByPath(path: string): unknown {
  const [first, second, third, ...more] = path.slice(1).split('/');
  if (path === '/api/v1') return listResources('', 'v1');
  if (first === 'apis' && second && !third) return findGroup(second);
  if (first === 'apis' && second && third && more.length === 0) return listResources(second, third);
  return path.startsWith('/openapi/v3/') ? openApiText(path.slice('/openapi/v3/'.length)) : undefined;
}

/** Built once per process, on first use: the documents are the same for every cluster. */
const openApiTexts = new Map<string, string>();
function openApiText(key: string): string | undefined {
  const known = openApiTexts.get(key);
  if (known) return known;
  const made = openApiOf(key);
  if (!made) return undefined;
  openApiTexts.set(key, JSON.stringify(made));
  return openApiTexts.get(key);
}
let cachedHash: string | undefined;
const openApiHash = () => {
  cachedHash ??= createHash('sha256').update(openApiText('api/v1')!).digest('hex').slice(0, 32).toUpperCase();
  return cachedHash;
};

/** The version of aggregated discovery that one media type in Accept names. */
function discoveryVersion(mediaType: string): 'v2' | 'v2beta1' | undefined {
  const [type, ...parameters] = mediaType.split(';').map((part) => part.trim());
  const requiredParameters = ['g=apidiscovery.k8s.io', 'as=APIGroupDiscoveryList'];
  if (type !== 'application/json' || !requiredParameters.every((parameter) => parameters.includes(parameter))) return undefined;
  return (['v2', 'v2beta1'] as const).find((version) => parameters.includes(`v=${version}`));
}

/** Aggregated discovery: kubectl asks for all resources at once, by a media type in Accept. */
function replyAggregatedDiscovery({ accept }: Call, isCore: boolean): Reply | undefined {
  const version = accept.split(',').map(discoveryVersion).find(Boolean);
  if (!version) return undefined;
  return {
    status: 200,
    body: aggregatedDiscovery(isCore, version),
    contentType: `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
  };
}

function versionOf({ options }: Cluster) {
  const gitVersion = options.version();
  const [, major = '1', minor = '0'] = /^v(\d+)\.(\d+)/.exec(gitVersion) ?? [];
  return {
    major,
    minor,
    gitVersion,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: '',
    compiler: '',
    platform: 'embedded',
  };
}
