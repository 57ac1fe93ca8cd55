import { createHash } from 'node:crypto';
import { type Kitchen, made201, type Thing, unique } from '../recipe.ts';

const digestOf = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
const types = { manifest: 'application/vnd.oci.image.manifest.v1+json', config: 'application/vnd.oci.image.config.v1+json' };

/** Pushes a small image as a client would, with a key of the registry. */
export async function pushedImage({ qd, at }: Kitchen, { params }: Thing) {
  const { keyId, secret } = await made201(at.post(`/registry/registries/${params.slug}/keys`, { name: 'pusher', mode: 'readwrite' }));
  const [repo, tag] = [unique('team/app'), unique('v')].map((name) => name.replace(' ', '-')) as [string, string];
  const send = async (method: string, url: string, expected: number, body?: string, type = 'application/octet-stream') => {
    const authorization = `Basic ${btoa(`${keyId}:${secret}`)}`;
    const answer = await fetch(new URL(url, qd.url), {
      method,
      headers: { authorization, 'content-type': type },
      ...(body ? { body } : {}),
    });
    if (answer.status !== expected) throw new Error(`${method} ${url} answered ${answer.status} ${await answer.text()}`);
    await answer.body?.cancel();
    return answer;
  };

  const config = JSON.stringify({ architecture: 'amd64', os: 'linux', rootfs: { type: 'layers', diff_ids: [] }, author: unique('author') });
  const upload = (await send('POST', `/v2/${params.slug}/${repo}/blobs/uploads/`, 202)).headers.get('location')!;
  await send('PUT', `${upload}${upload.includes('?') ? '&' : '?'}digest=${digestOf(config)}`, 201, config);
  const described = { mediaType: types.config, digest: digestOf(config), size: config.length };
  const manifest = JSON.stringify({ schemaVersion: 2, mediaType: types.manifest, config: described, layers: [] });
  await send('PUT', `/v2/${params.slug}/${repo}/manifests/${tag}`, 201, manifest, types.manifest);
  return { repo, tag, digest: digestOf(manifest) };
}
