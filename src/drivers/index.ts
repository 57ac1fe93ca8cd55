import type { Driver } from './driver.ts';
import { embeddedDriver } from './embedded/index.ts';
import { processDriver } from './process/index.ts';

/** By the name in a cluster's row. */
export const drivers: Readonly<Record<string, Driver>> = { embedded: embeddedDriver, process: processDriver };
