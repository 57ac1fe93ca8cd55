/**
 * Storage: the bytes of blobs and mail, as files of this machine or as objects of an S3 bucket. docs/areas/kernel.md lists the settings.
 *
 * Actors. Areas hold the rows and choose the keys; the storage holds the bytes and knows no row. storage.ts is the interface that both
 * kinds implement: files.ts with file-uploads.ts, s3.ts with s3-objects.ts and s3-uploads.ts. canary.ts proves at the start that this
 * storage belongs to this database.
 *
 * Flow of an object: body.ts hashes and buffers the chunks → the bytes are written beside their place → sync → rename (files), or one PUT or
 * a multipart upload (S3). Flow of an upload: createUpload → append, from the offset that the storage reports → commit under a key, or abort.
 * exclusive.ts keeps two requests of one process from writing to one upload; `mayWrite` is the caller's lease between processes.
 *
 * States. An object is whole or absent. An upload has an id and an offset and no key. The offset is the size of its file, or the end of its
 * last piece in the bucket.
 *
 * Crashes. What `put` and `commit` returned is durable. A killed writer leaves files in `.uploads` or pieces below `.uploads/`, which `sweep`
 * removes (s3-sweep.ts in a bucket). Uploads in progress survive a killed process; with files a power cut may take their newest bytes, and
 * the offset then shows it.
 *
 * sealed-stream.ts seals bytes on their way into an object, for callers that hold its key.
 *
 * fair-disk.ts keeps syncs from taking all threads of libuv, and one organization from taking all syncs. errors.ts has the refusals: a full
 * storage and one that does not answer are 503.
 */
export type { Body } from './body.ts';
export * from './errors.ts';
export { readFairly } from './fair-disk.ts';
export { fileStorage } from './files.ts';
export { s3Storage } from './s3.ts';
export type { S3Settings } from './s3-client.ts';
export type { ByteRange, Listed, Opened, Stat, Storage } from './storage.ts';
