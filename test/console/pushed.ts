import { createHash } from 'node:crypto';
import { run } from '../../src/kernel/db/index.ts';
import type { Quarterdeck } from '../harness/index.ts';

const sha256 = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
const type = (what: string) => `application/vnd.oci.image.${what}+json`;

export interface Pushed {
  mediaType: string;
  digest: string;
  size: number;
}

/** Pushes as a client would, with a key of its own. */
export async function pusherOf({ owner, url }: Quarterdeck, slug: string) {
  const { keyId, secret } = (await owner.post(`/registry/registries/${slug}/keys`, { name: 'pusher', mode: 'readwrite' })).body;
  const authorization = `Basic ${btoa(`${keyId}:${secret}`)}`;
  const send = async (method: string, path: string, mediaType: string, body: string): Promise<Pushed> => {
    const answer = await fetch(`${url}/v2/${slug}/${path}`, { method, headers: { authorization, 'content-type': mediaType }, body });
    if (answer.status !== 201) throw new Error(`${method} ${path} answered ${answer.status} ${await answer.text()}`);
    return { mediaType, digest: sha256(body), size: body.length };
  };
  const blob = async (repo: string, text: string, mediaType = 'application/vnd.oci.image.layer.v1.tar+gzip') => ({
    ...(await send('POST', `${repo}/blobs/uploads/?digest=${sha256(text)}`, 'application/octet-stream', text)),
    mediaType,
  });
  const put = (repo: string, reference: string | undefined, manifest: { mediaType: string }) => {
    const body = JSON.stringify({ schemaVersion: 2, ...manifest });
    return send('PUT', `${repo}/manifests/${reference ?? sha256(body)}`, manifest.mediaType, body);
  };
  return {
    /** An image for linux of this architecture. */
    image: async (repo: string, reference: string | undefined, architecture: string, layers: string[], more: object = {}) =>
      put(repo, reference, {
        mediaType: type('manifest.v1'),
        config: await blob(repo, JSON.stringify({ os: 'linux', architecture }), type('config.v1')),
        layers: await Promise.all(layers.map((layer) => blob(repo, layer))),
        ...more,
      } as { mediaType: string }),
    index: (repo: string, reference: string, images: (Pushed & { platform: object })[]) =>
      put(repo, reference, { mediaType: type('index.v1'), manifests: images } as { mediaType: string }),
  };
}

/** So many further tags of an image that is there: v0.0.0, v0.0.1 and so on. */
export const tagMany = ({ app }: Quarterdeck, repo: string, digest: string, count: number) =>
  app.db.write(
    (tx) => run(tx)`
    with made as (
    insert into registry.tag (repository_id, name, manifest_id, updated_at)
    select m.repository_id, format('v%s.%s.%s', n / 1000, n / 10 % 100, n % 10), m.id, kernel.now() - n * interval '1 hour'
      from registry.manifest m join registry.repository r on r.id = m.repository_id, generate_series(0, ${count - 1}) n
     where r.name = ${repo} and m.digest = ${digest}
    returning repository_id)
    insert into registry.repository_change (repository_id, bytes, tags) select repository_id, 0, count(*) from made group by repository_id`,
  );
