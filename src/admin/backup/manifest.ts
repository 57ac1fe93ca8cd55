import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/schema';
import { exitCodes, Stop } from '../../kernel/errors.ts';

// A backup is a directory: manifest.json with its checksum and an HMAC under secret.key, one file per table in PostgreSQL's text format
// (the same for every major version), the stored objects under their keys, and the key file if requested. File names follow from names of
// tables and keys; the manifest holds no paths that could lead elsewhere.

export const format = 1;

const Identifier = Type.String({ pattern: '^[a-z_][a-z0-9_]{0,62}$' });
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });
const Count = Type.Integer({ minimum: 0 });
const Written = { bytes: Count, sha256: Sha256 };

/** Bounds become SQL at a restore, so only what PostgreSQL itself prints for them is let through. */
const value = `(?:MINVALUE|MAXVALUE|NULL|-?[0-9.]+|'[^'\\\\]*')`;
const values = `\\(${value}(?:, ${value})*\\)`;
const Bound = Type.String({
  pattern: `^(?:DEFAULT|FOR VALUES (?:FROM ${values} TO ${values}|IN ${values}|WITH \\(modulus [0-9]+, remainder [0-9]+\\)))$`,
});

const Partition = Type.Object({ name: Identifier, bound: Bound });
const Table = Type.Object({
  schema: Identifier,
  name: Identifier,
  columns: Type.Array(Identifier, { minItems: 1 }),
  partitions: Type.Array(Partition),
  rows: Count,
  ...Written,
});
const Sequence = Type.Object({
  schema: Identifier,
  name: Identifier,
  last: Type.Union([Type.String({ pattern: '^-?[0-9]{1,19}$' }), Type.Null()]),
});

const Manifest = Type.Object({
  product: Type.Literal('quarterdeck'),
  format: Type.Literal(format),
  release: Type.String(),
  postgres: Type.String(),
  createdAt: Type.String(),
  migrations: Type.Array(Type.Object({ id: Type.String(), checksum: Sha256 })),
  tables: Type.Array(Table),
  sequences: Type.Array(Sequence),
  /** Null: left out. `missing` are named by rows but were not in the storage. */
  blobs: Type.Union([Type.Object({ count: Count, total: Count, missing: Count, ...Written }), Type.Null()]),
  key: Type.Union([Type.Object(Written), Type.Null()]),
});
export type Manifest = Static<typeof Manifest>;
export type TableFile = Static<typeof Table>;
export type Partition = Static<typeof Partition>;

export const rowsIn = (manifest: Manifest): number => manifest.tables.reduce((sum, table) => sum + table.rows, 0);

export const manifestFile = 'manifest.json';
export const checksumFile = 'manifest.sha256';
export const markFile = 'manifest.hmac';
/** What the key of the mark is derived for. */
export const markPurpose = 'quarterdeck backup manifest';
export const blobList = 'blobs.txt';
export const keyCopy = 'secret.key';
export const tableFile = ({ schema, name }: { schema: string; name: string }) => join('tables', `${schema}.${name}.copy`);
export const blobFile = (key: string) => join('blobs', key);

/** In the form that `sha256sum -c` reads. */
export const checksumOf = (manifest: Buffer | string) => `${createHash('sha256').update(manifest).digest('hex')}  ${manifestFile}\n`;

export const damaged = (directory: string, what: string): Stop =>
  new Stop(exitCodes.backup, `the backup in ${directory} is damaged: ${what}; use another one`);

export async function readManifest(directory: string): Promise<Manifest> {
  const text = await readFile(join(directory, manifestFile)).catch((error: NodeJS.ErrnoException) => {
    if (!['ENOENT', 'ENOTDIR'].includes(error.code ?? '')) throw error;
    throw new Stop(
      exitCodes.backup,
      `${directory} is not a backup: it has no ${manifestFile}; name the directory that \`quarterdeck admin backup\` made`,
    );
  });
  const checksum = await readFile(join(directory, checksumFile), 'utf8').catch(() => '');
  if (checksum !== checksumOf(text)) throw damaged(directory, `${manifestFile} is not what ${checksumFile} says`);
  return parse(directory, JSON.parse(text.toString()));
}

function parse(directory: string, found: { product?: unknown; format?: unknown }): Manifest {
  if (found.product === 'quarterdeck' && typeof found.format === 'number' && found.format > format) {
    throw new Stop(
      exitCodes.backup,
      `the backup in ${directory} has format ${found.format}, and this release knows ${format}; restore it with the release that made it, or a newer one`,
    );
  }
  if (!Compile(Manifest).Check(found)) throw damaged(directory, `${manifestFile} is not one that \`quarterdeck admin backup\` writes`);
  return found;
}
