import type { App } from '../../kernel/app.ts';
import type { Host, Opened, Running } from '../area.ts';
import { publicPlane } from './planes/public/index.ts';
import { type Memory, makeMemory } from './planes/public/memory.ts';

export interface OpenStatus {
  /** The pages that this process has read. */
  memory: Memory;
}

export function openStatus({ app }: Host): Opened<OpenStatus> {
  const memory = makeMemory(app);
  return {
    own: { memory },
    planes: [publicPlane(app, memory)],
    runs: { api: async () => startWarming(app, memory) },
    stop: async () => memory.stop(),
  };
}

/** In the background: a start does not wait for it, and a reader who comes first reads for himself. */
function startWarming(app: App, memory: Memory): Running {
  const warming = memory.warm().catch((error) => app.log.warn({ err: error }, 'status pages could not be read ahead'));
  return {
    stop: () => {
      memory.stop();
      return warming;
    },
  };
}
