import { readFile } from 'node:fs/promises';
import type { Clock } from '../clock.ts';
import type { Stamp } from './spool-record.ts';

/** An id of this boot; '' where the system has none, and only the wall clock links two processes. */
export const bootId = async (): Promise<string> => (await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')).trim();

export const stampBy = (clock: Clock, boot: string) => (): Stamp => ({ boot, sinceBoot: clock.sinceBoot(), wall: clock.wall() });
