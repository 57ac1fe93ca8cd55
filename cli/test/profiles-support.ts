import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { TestContext } from 'node:test';

/** A user's home directory. */
export function makeHome(t: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), 'qdh-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** A `secret-tool` that keeps secrets in files, one for each set of attributes; it stands before all others in the PATH. */
export function makeKeyring(home: string): { PATH: string } {
  const folder = join(home, 'bin');
  mkdirSync(join(home, 'ring'), { recursive: true });
  mkdirSync(folder, { recursive: true });
  const script = `#!/bin/sh
verb=$1; shift
case $verb in store) shift;; esac
place='${join(home, 'ring')}'/$(printf '%s ' "$@" | od -An -tx1 | tr -d ' \\n')
case $verb in
  store) cat > "$place";;
  lookup) test -f "$place" && cat "$place";;
  clear) rm -f "$place";;
esac
`;
  writeFileSync(join(folder, 'secret-tool'), script);
  chmodSync(join(folder, 'secret-tool'), 0o755);
  return { PATH: `${folder}${delimiter}${process.env['PATH']}` };
}
