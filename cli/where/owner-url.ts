import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isThisMachine } from '../origin.ts';

const maxBytes = 4_096;

/**
 * Where the server of a data directory listens, as it wrote down itself at its last start. Only addresses of this machine count, and only
 * a file of the caller or of root: another user's folder must not name the place that gets the caller's token. A directory that the
 * environment names is the caller's own choice.
 */
export function ownerUrl(dataDir: string, { isChosen }: { isChosen: boolean }): string | undefined {
  const file = join(dataDir, 'owner.url');
  try {
    const { uid, size } = statSync(file);
    if (size > maxBytes) return undefined;
    if (!isChosen && uid !== 0 && uid !== process.getuid?.()) return undefined;
    return readFileSync(file, 'utf8')
      .split('\n')
      .find((line) => URL.canParse(line) && /^https?:/.test(line) && isThisMachine(line));
  } catch {
    return undefined;
  }
}
