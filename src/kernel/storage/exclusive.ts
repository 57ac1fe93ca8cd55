import { UploadBusy } from './errors.ts';

/** A client that retries too early must not write into the upload that its first request is still filling. */
export function exclusive() {
  const busy = new Set<string>();
  return async <T>(id: string, work: () => Promise<T>): Promise<T> => {
    if (busy.has(id)) throw new UploadBusy();
    busy.add(id);
    try {
      return await work();
    } finally {
      busy.delete(id);
    }
  };
}
