import { commandName } from '../command-name.ts';
import { exitCodes, Failure } from '../exit.ts';
import { buildTinyImage, type ImagePart } from './image.ts';
import { ensure, fetchBeside, type Trial } from './support.ts';

const slug = 'try';
const repo = 'hello';
const tag = 'v1';

/** Makes the registry `try`, pushes an image of one text file by the registry protocol, and lists its tags. */
export async function tryPush(trial: Trial): Promise<void> {
  const { api, url, say } = trial;
  await ensure(trial, `the registry ${slug}`, {
    find: async () => (await api.registry.listRegistries()).registries.find((registry) => registry.slug === slug),
    make: () => api.registry.createRegistry({ slug }),
  });
  const login = await api.registry.createRegistryLogin({ registry: slug });
  const { layer, config, manifest } = buildTinyImage('hello.txt', 'Hello from Quarterdeck.\n');
  const push = await openRepository(url, `${slug}/${repo}`, login);
  for (const [what, blob] of [['layer', layer] as const, ['config', config] as const]) {
    const isNew = await push.blob(blob);
    say(`✓ ${what} ${blob.digest.slice(0, 19)} ${blob.bytes.length} bytes ${isNew ? 'pushed' : 'was there already'}`);
  }
  await push.manifest(manifest, tag);
  say(`✓ ${slug}/${repo}:${tag} pushed`);

  const { tags } = await api.registry.listRegistryTags(slug, { repo });
  say(`\nTags of ${slug}/${repo} (${commandName} registry tags list ${slug} --repo ${repo}):`);
  for (const { name, digest } of tags) say(`  ${name}  ${digest}`);
  const { host, protocol } = new URL(url);
  const image = `${host}/${slug}/${repo}:${tag}`;
  const isPlain = protocol === 'http:';
  say(`\nPull it, with the login of this hour:
  skopeo copy${isPlain ? ' --src-tls-verify=false' : ''} \\
    --src-username ${login.username} \\
    --src-password ${login.password} \\
    docker://${image} oci:./hello:${tag}
or
  docker login -u ${login.username} \\
    -p ${login.password} ${host}
  docker pull ${image}`);
}

interface Login {
  username: string;
  password: string;
}

/** The two uploads of the distribution specification that an image needs. */
async function openRepository(url: string, name: string, login: Login) {
  const authorization = await authorizationFor(url, name, login);
  const ask = async (method: string, target: string, given: { body?: Buffer; type?: string } = {}): Promise<Response> => {
    const answer = await fetchBeside(new URL(target, url), {
      method,
      headers: { authorization, ...(given.type ? { 'content-type': given.type } : {}) },
      ...(given.body ? { body: new Uint8Array(given.body) } : {}),
    });
    const text = method === 'HEAD' ? '' : await answer.text();
    if (!answer.ok && !(method === 'HEAD' && answer.status === 404))
      throw new Failure(
        exitCodes.refused,
        `the registry answered ${answer.status} to ${method} ${target.split('?')[0]}: ${text.slice(0, 300)}`,
      );
    return answer;
  };
  return {
    /** False: it was there. */
    blob: async ({ bytes, digest }: ImagePart): Promise<boolean> => {
      if ((await ask('HEAD', `/v2/${name}/blobs/${digest}`)).ok) return false;
      const begun = await ask('POST', `/v2/${name}/blobs/uploads/`);
      const target = new URL(begun.headers.get('location') ?? '', url);
      if (target.origin !== new URL(url).origin) throw new Failure(exitCodes.refused, `the registry sends uploads to ${target.origin}`);
      target.searchParams.set('digest', digest);
      await ask('PUT', target.href, { body: bytes, type: 'application/octet-stream' });
      return true;
    },
    manifest: async ({ bytes, mediaType }: ImagePart, reference: string): Promise<void> => {
      await ask('PUT', `/v2/${name}/manifests/${reference}`, { body: bytes, type: mediaType });
    },
  };
}

/** Follows the registry's challenge, as every client does: a token for this repository. */
async function authorizationFor(url: string, name: string, { username, password }: Login): Promise<string> {
  const basic = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const challenge = (await fetchBeside(`${url}/v2/`)).headers.get('www-authenticate') ?? '';
  const [realm, service] = ['realm', 'service'].map((key) => challenge.split(`${key}="`)[1]?.split('"', 1)[0]);
  if (!realm || new URL(realm).origin !== new URL(url).origin) return basic;
  const target = new URL(realm);
  if (service) target.searchParams.set('service', service);
  target.searchParams.set('scope', `repository:${name}:pull,push`);
  const answer = await fetchBeside(target, { headers: { authorization: basic } });
  const { token } = (await answer.json().catch(() => ({}))) as { token?: string };
  if (!token) throw new Failure(exitCodes.refused, `the registry gave no token to push with (${answer.status})`);
  return `Bearer ${token}`;
}
