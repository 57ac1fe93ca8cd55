export type { Body } from './body.ts';
export * from './errors.ts';
export { readFairly } from './fair-disk.ts';
export { fileStorage } from './files.ts';
export { s3Storage } from './s3.ts';
export type { S3Settings } from './s3-client.ts';
export type { ByteRange, Listed, Opened, Stat, Storage } from './storage.ts';
