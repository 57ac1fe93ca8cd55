import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';

/** A part of an image, with the digest that names it. */
export interface ImagePart {
  bytes: Buffer;
  digest: string;
  mediaType: string;
}

export interface TinyImage {
  layer: ImagePart;
  config: ImagePart;
  manifest: ImagePart;
}

const digestOf = (bytes: Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const part = (mediaType: string, bytes: Buffer): ImagePart => ({ bytes, digest: digestOf(bytes), mediaType });
const jsonPart = (mediaType: string, content: unknown) => part(mediaType, Buffer.from(JSON.stringify(content)));
const descriptorOf = ({ mediaType, digest, bytes }: ImagePart) => ({ mediaType, digest, size: bytes.length });

/** An OCI image of one layer with one text file: the same bytes each time, so a second push finds everything there. */
export function buildTinyImage(fileName: string, text: string): TinyImage {
  const tar = tarOf(fileName, Buffer.from(text));
  const layer = part('application/vnd.oci.image.layer.v1.tar+gzip', gzipSync(tar));
  const config = jsonPart('application/vnd.oci.image.config.v1+json', {
    architecture: 'amd64',
    os: 'linux',
    config: {},
    rootfs: { type: 'layers', diff_ids: [digestOf(tar)] },
  });
  const manifest = jsonPart('application/vnd.oci.image.manifest.v1+json', {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: descriptorOf(config),
    layers: [descriptorOf(layer)],
  });
  return { layer, config, manifest };
}

const blockBytes = 512;

/** A tar archive (POSIX ustar) of one file. */
function tarOf(name: string, content: Buffer): Buffer {
  const header = Buffer.alloc(blockBytes);
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`;
  header.write(name, 0);
  header.write(octal(0o644, 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  header.write(octal(content.length, 12), 124);
  header.write(octal(0, 12), 136);
  header.write(' '.repeat(8), 148); // the checksum counts itself as spaces
  header.write('0', 156);
  header.write('ustar\x0000', 257);
  header.write(
    `${header
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
  );
  const padding = Buffer.alloc((blockBytes - (content.length % blockBytes)) % blockBytes);
  return Buffer.concat([header, content, padding, Buffer.alloc(2 * blockBytes)]);
}
