import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import https from 'node:https';
import net, { type Socket } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { folderOf } from '../../../src/drivers/process/rules/count-objects.ts';
import { type Authenticator, makeAuthenticator, type User } from './authenticate.ts';
import { apiserverFlags, parseFlags, refuse, requireFlag } from './flags.ts';
import { type KubeObject, namespaces, type Objects, openObjects, type Place, Refusal, readPlace } from './objects.ts';
import { beginProgram } from './program.ts';
import { openStore } from './store.ts';

// A kube-apiserver as far as its neighbours can tell: flags, files, TLS, who asks, objects, watches.

const argv = process.argv.slice(2);
const streams = new Set<ServerResponse>();
const sockets = new Set<Socket>();
let server: https.Server | undefined;
const program = await beginProgram('kube-apiserver', endServing);
const flags = parseFlags('kube-apiserver', apiserverFlags, argv);

for (const name of ['service-account-issuer', 'service-account-signing-key-file', 'tls-cert-file', 'tls-private-key-file'])
  requireFlag(flags, name);
for (const name of [
  'proxy-client-cert-file',
  'proxy-client-key-file',
  'kubelet-client-certificate',
  'kubelet-client-key',
  'kubelet-certificate-authority',
])
  if (flags.get(name)) readFileSync(flags.get(name)!);
const port = Number(flags.get('secure-port') ?? 6443);
if (!(port >= 1 && port <= 65_535))
  refuse(`Error: --secure-port ${port} must be between 1 and 65535, inclusive. It cannot be turned off with 0`);
const egress = readEgress(flags.get('egress-selector-config-file'));

const store = openStore(storeAddress());
const objects: Objects = openObjects(store);
const noUser: User = { username: 'system:apiserver', groups: ['system:masters'] };
const at = (path: string): Place => readPlace(path)!;
const quietly = <T>(asked: Promise<T>): Promise<T | undefined> =>
  asked.catch((error) => {
    if (error instanceof Refusal) return undefined;
    throw error;
  });
const authenticator: Authenticator = makeAuthenticator(flags, {
  accountUid: async (namespace, name) =>
    (await quietly(objects.read(at(`/api/v1/namespaces/${namespace}/serviceaccounts/${name}`))))?.metadata.uid,
  secretUid: async (namespace, name) => (await quietly(objects.read(at(`/api/v1/namespaces/${namespace}/secrets/${name}`))))?.metadata.uid,
  secret: async (name) => {
    const found = await quietly(objects.read(at(`/api/v1/namespaces/kube-system/secrets/${name}`)));
    const data = Object.entries((found?.data ?? {}) as Record<string, string>);
    return found && Object.fromEntries(data.map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
  },
});
function storeAddress() {
  const servers = requireFlag(flags, 'etcd-servers');
  const socket = /^unix:\/\/(\/.+)$/.exec(servers)?.[1];
  if (socket) return socket;
  const port = Number(
    /^https:\/\/127\.0\.0\.1:(\d+)$/.exec(servers)?.[1] ?? refuse(`Error: the fake does not know --etcd-servers=${servers}`),
  );
  const read = (flag: string) => readFileSync(requireFlag(flags, flag));
  return { host: '127.0.0.1', port, ca: read('etcd-cafile'), cert: read('etcd-certfile'), key: read('etcd-keyfile') };
}
let isBegun = false;
/** As it was said when it started. */
const rolesAfterMs = (await program.misbehaviour()).slowRolesMs ?? 0;
void begin();

server = https.createServer(
  {
    cert: readFileSync(flags.get('tls-cert-file')!),
    key: readFileSync(flags.get('tls-private-key-file')!),
    requestCert: true,
    rejectUnauthorized: false,
  },
  (request, response) => void serve(request, response),
);
server.on('upgrade', (request, socket) => void upgrade(request, socket as Socket));
server.on('connection', (socket) => {
  sockets.add(socket);
  socket.on('close', () => sockets.delete(socket));
});
const host = flags.get('bind-address') ?? '0.0.0.0';
const cannotListen = (why: string) =>
  refuse(`E run.go:72] "command failed" err="failed to create listener: failed to listen on ${host}:${port}: ${why}"`);
server.on('error', (error: NodeJS.ErrnoException) =>
  cannotListen(error.code === 'EADDRINUSE' ? 'bind: address already in use' : error.message),
);
if ((await program.misbehaviour()).portTaken) cannotListen('bind: address already in use');
server.listen(port, host);

/** What a new control plane has before anybody asks. */
async function begin(): Promise<void> {
  while (!isBegun) {
    try {
      for (const name of ['default', 'kube-system', 'kube-public', 'kube-node-lease'])
        await quietly(objects.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }, noUser));
      const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];
      const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'cluster-admin' }, rules };
      await quietly(objects.create(at('/apis/rbac.authorization.k8s.io/v1/clusterroles'), role, noUser));
      isBegun = true;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100)); // kine is not there yet
    }
  }
}

async function endServing(): Promise<void> {
  // What is under way ends, and watches are told that they do.
  const isClosed = new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
  for (const response of streams) response.end();
  for (const socket of sockets) setTimeout(() => socket.end(), 50);
  await isClosed;
}

function say(response: ServerResponse, code: number, body: unknown): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(code, { 'content-type': typeof body === 'string' ? 'text/plain' : 'application/json' }).end(text);
}

const statusOf = (code: number, reason: string, message: string) => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message,
  reason,
  code,
});

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.on('error', () => {});
  const { pathname, searchParams } = new URL(request.url!, 'http://fake');
  try {
    const user = await authenticator.identify(request);
    if (!user) throw new Refusal(401, 'Unauthorized', 'Unauthorized');
    if (['/readyz', '/livez', '/healthz', '/version'].includes(pathname)) return await tellHealth(pathname, response);
    const place = readPlace(pathname);
    const discovery = place ? undefined : await discover(pathname);
    if (discovery) return say(response, 200, discovery);
    requireRight(user, request.method!, pathname);
    if (!place) throw new Refusal(404, 'NotFound', 'the server could not find the requested resource');
    const isWatch = request.method === 'GET' && !place.name && ['1', 'true'].includes(searchParams.get('watch') ?? '');
    if (isWatch) return await stream(response, place, searchParams);
    const body = ['POST', 'PUT', 'PATCH'].includes(request.method!) ? JSON.parse((await readText(request)) || '{}') : undefined;
    const answer = await act(request.method!, place, searchParams, body, user);
    say(
      response,
      request.method === 'POST' && !['token'].includes(place.subresource) ? 201 : request.method === 'POST' ? 201 : 200,
      answer,
    );
  } catch (error) {
    const { code, reason, message } =
      error instanceof Refusal ? error : { code: 500, reason: 'InternalError', message: (error as Error).message };
    if (!response.headersSent) say(response, code, statusOf(code, reason, message));
    else response.destroy();
  }
}

/** The groups and resources of which there are objects; a real one knows them without any. */
async function discover(path: string): Promise<KubeObject | undefined> {
  const [root, group, version, more] = path.split('/').filter(Boolean);
  if (more !== undefined || (root !== 'apis' && path !== '/api/v1')) return undefined;
  const { rows = [] } = await store.ask({ op: 'list', key: '/registry/' });
  const folders = new Set(rows.map(({ key }) => folderOf(key)));
  const kinds = [...folders].map((folder) => folder.split('/')).filter(([first]) => first !== 'health');
  const verbs = ['get', 'list', 'watch'];
  if (root === 'api') return { resources: kinds.filter(({ length }) => length === 1).map(([name]) => ({ name, verbs })) };
  if (version !== undefined)
    return { resources: kinds.filter(([first, name]) => first === group && name).map(([, name]) => ({ name, verbs })) };
  const groups = new Set(kinds.filter(({ length }) => length === 2).map(([name]) => name!));
  return { groups: [...groups].map((name) => ({ name, preferredVersion: { groupVersion: `${name}/v1` } })) };
}

/** Real ones make their roles one after the other once they listen. */
const lacksRoles = () => performance.now() < rolesAfterMs;

async function tellHealth(path: string, response: ServerResponse): Promise<void> {
  if (path === '/version') {
    const [major, minor] = program.version.slice(1).split('.');
    return say(response, 200, { major, minor, gitVersion: program.version, platform: 'linux/amd64' });
  }
  if (path !== '/readyz') return say(response, 200, 'ok');
  const { neverReady, readyz500 } = await program.misbehaviour();
  if (neverReady || readyz500 || lacksRoles())
    return say(response, 500, '[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\nreadyz check failed\n');
  const isThere = isBegun && (await store.ask({ op: 'read', key: '/registry/health' }).then(Boolean, () => false));
  say(response, isThere ? 200 : 500, isThere ? 'ok' : '[-]etcd failed: reason withheld\nreadyz check failed\n');
}

/** Who is nobody reads what kubeadm must read; everybody else may do everything. */
function requireRight(user: User, method: string, path: string): void {
  if (!user.groups.includes('system:masters') && lacksRoles())
    throw new Refusal(
      403,
      'Forbidden',
      `forbidden: User "${user.username}" cannot ${method.toLowerCase()} path "${path}": RBAC: not synced`,
    );
  if (user.username !== 'system:anonymous') return;
  if (method === 'GET' && path === '/api/v1/namespaces/kube-public/configmaps/cluster-info') return;
  throw new Refusal(403, 'Forbidden', `forbidden: User "system:anonymous" cannot ${method.toLowerCase()} path "${path}"`);
}

async function act(method: string, place: Place, query: URLSearchParams, body: KubeObject, user: User): Promise<KubeObject> {
  if (place.subresource === 'proxy') return dialNode(place);
  if (method === 'GET') return place.name ? objects.read(place) : objects.list(place, query);
  if ((await program.misbehaviour()).denies === place.plural)
    throw new Refusal(403, 'Forbidden', 'admission webhook "guard.example" denied the request');
  if (method === 'DELETE') return objects.remove(place);
  if (method === 'PUT') return objects.change(place, () => body);
  if (method === 'PATCH') return objects.change(place, (before) => applyMerge(before, body));
  if (place.plural === 'selfsubjectreviews') return { ...body, status: { userInfo: user } };
  if (place.plural === 'subjectaccessreviews' || place.plural === 'selfsubjectaccessreviews') return { ...body, status: { allowed: true } };
  if (place.subresource === 'token') return mintToken(place, body);
  if (place.subresource === 'binding')
    return objects.change({ ...place, subresource: '' }, (pod) => ({ ...pod, spec: { ...pod.spec, nodeName: body.target.name } }));
  if (place.subresource === 'eviction') return objects.remove({ ...place, subresource: '' });
  return objects.create(place, body, user);
}

async function mintToken(place: Place, body: KubeObject): Promise<KubeObject> {
  const seconds = body.spec?.expirationSeconds ?? 3_600;
  if (seconds < 600)
    throw new Refusal(422, 'Invalid', 'spec.expirationSeconds: Invalid value: may not specify a duration less than 10 minutes');
  const { namespace, name, uid } = (await objects.read({ ...place, subresource: '' })).metadata;
  const bound = body.spec?.boundObjectRef?.name;
  const tie = bound && (await objects.read(at(`/api/v1/namespaces/${namespace}/secrets/${bound}`))).metadata;
  const account = { namespace, name, uid, ...(tie ? { secret: { name: tie.name, uid: tie.uid } } : {}) };
  const token = authenticator.mintToken(account, seconds, body.spec?.audiences ?? []);
  const expirationTimestamp = new Date(performance.timeOrigin + performance.now() + seconds * 1000).toISOString();
  return { ...body, metadata: { name, namespace }, status: { token, expirationTimestamp } };
}

function applyMerge(before: KubeObject, patch: KubeObject): KubeObject {
  if (patch === null || typeof patch !== 'object' || Array.isArray(patch)) return patch;
  const after = { ...(before ?? {}) };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete after[name];
    else after[name] = applyMerge(after[name], value);
  }
  return after;
}

async function stream(response: ServerResponse, place: Place, query: URLSearchParams): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' });
  response.flushHeaders();
  streams.add(response);
  const tell = (type: string, object: KubeObject) => response.write(`${JSON.stringify({ type, object })}\n`);
  const end = await objects.watch(place, query, tell, () => response.end());
  const timeout = Number(query.get('timeoutSeconds') ?? 0);
  const timer = timeout ? setTimeout(() => response.end(), timeout * 1000) : undefined;
  response.on('close', () => {
    clearTimeout(timer);
    streams.delete(response);
    end();
  });
}

/** exec, attach and port-forward: who asked is said in the first line, and everything else comes back as it went. */
async function upgrade(request: IncomingMessage, socket: Socket): Promise<void> {
  socket.on('error', () => {});
  const user = await authenticator.identify(request).catch(() => undefined);
  const place = readPlace(new URL(request.url!, 'http://fake').pathname);
  if (!user || user.username === 'system:anonymous' || !['exec', 'attach', 'portforward'].includes(place?.subresource ?? ''))
    return void socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n');
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${request.headers.upgrade}\r\n\r\n${user.username}\n`);
  socket.pipe(socket);
}

// biome-ignore lint/suspicious/noExplicitAny: EgressSelectorConfiguration
function readEgress(path: string | undefined): any {
  if (!path) return undefined;
  const config = JSON.parse(readFileSync(path, 'utf8'));
  if (config.kind !== 'EgressSelectorConfiguration' || !/^apiserver\.k8s\.io\/v1(alpha1|beta1)?$/.test(config.apiVersion))
    refuse(`Error: no kind "${config.kind}" is registered for version "${config.apiVersion}"`);
  return config;
}

/** Asks for a way to a node where the egress selector says, and tells what came of it. */
async function dialNode(place: Place): Promise<KubeObject> {
  const node = await objects.read({ ...place, subresource: '', rest: '' });
  const address = node.status?.addresses?.[0]?.address;
  const selection = egress?.egressSelections?.find(({ name }: { name: string }) => name === 'cluster');
  const socketPath = selection?.connection?.transport?.uds?.udsName;
  if (!socketPath) throw new Refusal(503, 'ServiceUnavailable', 'there is no egress selector');
  const target = `${net.isIPv6(address) ? `[${address}]` : address}:${place.name.split(':')[1] ?? 10_250}`;
  const said = await new Promise<string>((resolve, reject) => {
    const socket = net.connect(socketPath, () => socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`));
    socket.once('data', (data) => {
      resolve(data.toString());
      socket.destroy();
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('egress: closed without an answer')));
  });
  const line = said.slice(0, said.indexOf('\r\n'));
  if (!/^HTTP\/1\.1 200/.test(line))
    throw new Refusal(503, 'ServiceUnavailable', `error trying to reach service: connect to ${target} failed: ${line}`);
  return { dialed: target };
}
