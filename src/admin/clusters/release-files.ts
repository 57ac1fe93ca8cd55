import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import { type Guard, GuardFailure, GuardRefusal, type GuardResponse } from '../../kernel/guard/index.ts';
import { noProgress, type Progress } from '../progress.ts';

// Files of a release with a checksum beside each: fetched, verified, and only then given their name.

/** Where a file is, and where its checksum is: the first that is there counts. */
export interface ReleaseFile {
  name: string;
  url: string;
  checksums: readonly { url: string; algorithm: 'sha512' | 'sha256' }[];
}

/** Bytes of a program and of a list of checksums; cut while they come, whatever was said of them before. */
export const maxBytes = { program: 512 * 2 ** 20, checksums: 64 * 2 ** 10 };
const maxRedirects = 5;

const refuse = (sentence: string, cause?: unknown): never => {
  throw new Stop(exitCodes.refused, sentence, { cause });
};

/** For machines without internet. */
const elsewise =
  'without internet, --from <folder> takes programs that another machine fetched, --build makes them with Go, and QUARTERDECK_CLUSTER_MIRROR names a mirror';

export const kineVersion = 'v0.14.16';

/** Kubernetes' releases, or a mirror in their layout; kine has its own place, and below a mirror the folder `kine`. */
export function kubernetesFile(base: string, version: string, arch: string, name: string): ReleaseFile {
  const url = `${base}/release/${version}/bin/linux/${arch}/${name}`;
  return { name, url, checksums: (['sha512', 'sha256'] as const).map((algorithm) => ({ url: `${url}.${algorithm}`, algorithm })) };
}

export function kineFile(base: string, arch: string): ReleaseFile {
  const folder = `${base}/${kineVersion}`;
  return {
    name: 'kine',
    url: `${folder}/kine-${arch}`,
    checksums: [{ url: `${folder}/sha256sum-${arch}.txt`, algorithm: 'sha256' }],
  };
}

export const etcdVersion = 'v3.6.16';

/** Below a mirror the folder `etcd`. Its programs are in an archive. */
export function etcdFile(base: string, arch: string): ReleaseFile & { folder: string } {
  const folder = `etcd-${etcdVersion}-linux-${arch}`;
  const url = `${base}/${etcdVersion}/${folder}.tar.gz`;
  return { name: 'etcd', url, folder, checksums: [{ url: `${base}/${etcdVersion}/SHA256SUMS`, algorithm: 'sha256' }] };
}

/** The file at `path`, verified. What was fetched by an earlier try, whole or in part, is not fetched again. */
export async function fetchVerified(guard: Guard, file: ReleaseFile, path: string, progress: Progress = noProgress): Promise<void> {
  progress.begin(`fetching ${file.name}`);
  const expected = await readChecksum(guard, file);
  if ((await hashFile(path, expected.algorithm)) === expected.hex) return;
  const part = `${path}.part`;
  await fetchRest(guard, file, part, progress);
  progress.begin(`checking ${file.name}`);
  const found = await hashFile(part, expected.algorithm);
  if (found !== expected.hex) {
    await rm(part, { force: true });
    refuse(
      `${file.url} does not have its ${expected.algorithm} checksum (expected ${expected.hex.slice(0, 16)}…, found ${found?.slice(0, 16)}…); nothing was installed: try again, and ask the operator of that server if it stays so`,
    );
  }
  await rename(part, path);
}

async function ask(guard: Guard, url: string, headers: Record<string, string>, maxBodyBytes: number): Promise<GuardResponse> {
  try {
    return await guard.fetch('releases', url, {
      headers,
      maxRedirects,
      maxBodyBytes,
      decompress: false,
      timeouts: { totalMs: Number.POSITIVE_INFINITY },
    });
  } catch (error) {
    if (error instanceof GuardFailure || error instanceof GuardRefusal)
      return refuse(`${url} cannot be fetched: ${error.message}; ${elsewise}`, error);
    throw error;
  }
}

async function readChecksum(guard: Guard, file: ReleaseFile): Promise<{ algorithm: 'sha512' | 'sha256'; hex: string }> {
  for (const { url, algorithm } of file.checksums) {
    const answer = await ask(guard, url, {}, maxBytes.checksums);
    if (answer.status !== 200) {
      answer.cancel();
      if (answer.status === 404) continue;
      refuse(`${url} was answered with status ${answer.status}; try again later, or use a mirror`);
    }
    const text = await answer.text().catch((error) => refuse(`${url} cannot be read: ${(error as Error).message}`, error));
    const hex = findChecksum(text, file.url, algorithm === 'sha512' ? 128 : 64);
    return hex ? { algorithm, hex } : refuse(`${url} holds no checksum of ${file.name}; it is not a file of a release`);
  }
  return refuse(
    `there is no release file ${file.url}; check the version, or name a mirror that has it in QUARTERDECK_CLUSTER_MIRROR, or use --from or --build`,
  );
}

/** A checksum alone, or a list of them in the form of sha256sum. */
function findChecksum(text: string, url: string, digits: number): string | undefined {
  const name = url.slice(url.lastIndexOf('/') + 1);
  for (const line of text.split('\n')) {
    const [hex = '', path] = line.trim().split(/\s+\*?/);
    const isFor = path === undefined || path.slice(path.lastIndexOf('/') + 1) === name;
    if (isFor && hex.length === digits && /^[0-9a-f]+$/i.test(hex)) return hex.toLowerCase();
  }
  return undefined;
}

const sizeOf = (path: string) =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  );

const tooLarge = ({ url }: ReleaseFile) =>
  `${url} has more than ${maxBytes.program / 2 ** 20} MiB, which no program of Kubernetes has; nothing was installed`;

async function fetchRest(guard: Guard, file: ReleaseFile, part: string, progress: Progress): Promise<void> {
  const have = await sizeOf(part);
  const remainingBytes = maxBytes.program - have;
  const answer = await ask(guard, file.url, have > 0 ? { range: `bytes=${have}-` } : {}, remainingBytes);
  if (answer.status === 416 && have > 0) {
    answer.cancel();
    return; // all of it is there already, or it is another file: its checksum tells
  }
  const goesOn = answer.status === 206 && String(answer.headers['content-range'] ?? '').startsWith(`bytes ${have}-`);
  if (have > 0 && answer.status === 200) {
    // It does not go on where we were: all of it comes again, and has all of the room.
    answer.cancel();
    await rm(part, { force: true });
    return fetchRest(guard, file, part, progress);
  }
  if (!goesOn && answer.status !== 200) {
    answer.cancel();
    if (answer.status === 404) refuse(`there is no release file ${file.url}, though its checksum is there; use another mirror`);
    refuse(`${file.url} was answered with status ${answer.status}; try again later, or use a mirror`);
  }
  if (Number(answer.headers['content-length'] ?? 0) > remainingBytes) {
    answer.cancel();
    await rm(part, { force: true });
    refuse(tooLarge(file));
  }
  try {
    progress.begin(`fetching ${file.name}`, Number(answer.headers['content-length'] ?? 0) || undefined);
    await pipeline(answer.body, counted(progress), createWriteStream(part, { flags: goesOn ? 'a' : 'w' }));
  } catch (error) {
    if (!(error instanceof GuardFailure)) throw error;
    if (error.kind === 'too_large') {
      await rm(part, { force: true });
      refuse(tooLarge(file), error);
    }
    refuse(`${file.url} broke off: ${error.message}; run the command again, and it goes on from there`, error);
  }
}

const counted = (progress: Progress) =>
  async function* (pieces: AsyncIterable<Buffer>) {
    for await (const piece of pieces) {
      progress.add(piece.length);
      yield piece;
    }
  };

/** Undefined: there is none. */
export async function hashFile(path: string, algorithm: string): Promise<string | undefined> {
  const hash = createHash(algorithm);
  try {
    await pipeline(createReadStream(path), hash);
    return hash.digest('hex');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
