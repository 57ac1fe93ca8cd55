import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Undefined: this is no clone. */
export function readCommit(git: string): string | undefined {
  const dir = /^gitdir: (.*)$/m.exec(readIfThere(git) ?? '')?.[1] ?? git; // a worktree has a file
  const head = readIfThere(join(dir, 'HEAD'))?.trim();
  const ref = /^ref: (.*)$/.exec(head ?? '')?.[1];
  if (ref === undefined) return head && isCommit(head) ? head : undefined;
  const common = join(dir, readIfThere(join(dir, 'commondir'))?.trim() ?? '');
  const found = readIfThere(join(common, ref))?.trim() ?? packedRef(readIfThere(join(common, 'packed-refs')), ref);
  return found && isCommit(found) ? found : undefined;
}

const isCommit = (text: string) => /^[0-9a-f]{40}([0-9a-f]{24})?$/.test(text);

const packedRef = (packed: string | undefined, ref: string): string | undefined =>
  packed
    ?.split('\n')
    .find((line) => line.endsWith(` ${ref}`))
    ?.split(' ')[0];

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
