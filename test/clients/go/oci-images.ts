import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

// Images without a builder of images: folders become layers, and a layout of the OCI names what they make.

export interface Image {
  /** Full, as in `registry.k8s.io/pause:3.10.2`. */
  name: string;
  /** Root file systems, the later ones over the earlier ones. */
  folders: readonly string[];
  config: { Entrypoint?: string[]; Cmd?: string[]; User?: string; Env?: string[]; WorkingDir?: string };
}

interface Blob {
  mediaType: string;
  digest: string;
  size: number;
}

const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
const typeOf = (what: string) => `application/vnd.oci.image.${what}`;

/** A layout of all of them at `folder`, as skopeo (`oci:<folder>:<name>`) and, in a tar archive, containerd read it. */
export async function writeImages(folder: string, images: readonly Image[]): Promise<void> {
  await mkdir(join(folder, 'blobs/sha256'), { recursive: true });
  const put = async (mediaType: string, bytes: Buffer): Promise<Blob> => {
    const hex = createHash('sha256').update(bytes).digest('hex');
    await writeFile(join(folder, 'blobs/sha256', hex), bytes);
    return { mediaType, digest: `sha256:${hex}`, size: bytes.length };
  };
  const layers = new Map<string, Blob>();
  for (const root of new Set(images.flatMap(({ folders }) => folders)))
    layers.set(root, await put(typeOf('layer.v1.tar'), execFileSync('tar', ['-c', '-C', root, '.'], { maxBuffer: 2 ** 30 })));

  const manifests: object[] = [];
  for (const { name, folders, config } of images) {
    const own = folders.map((root) => layers.get(root)!);
    const rootfs = { type: 'layers', diff_ids: own.map(({ digest }) => digest) };
    const described = { architecture, os: 'linux', config: { ...config, Labels: { name } }, rootfs };
    const manifest = {
      schemaVersion: 2,
      mediaType: typeOf('manifest.v1+json'),
      config: await put(typeOf('config.v1+json'), Buffer.from(JSON.stringify(described))),
      layers: own,
    };
    const annotations = { 'org.opencontainers.image.ref.name': name, 'io.containerd.image.name': name };
    manifests.push({ ...(await put(manifest.mediaType, Buffer.from(JSON.stringify(manifest)))), annotations });
  }
  await writeFile(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  await writeFile(join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests }));
}
