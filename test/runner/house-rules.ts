import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';

/** `npm run check` beside the tests: it gets the time of the processors that they leave over, which is most of what it needs. */
export function startHouseRules(stop: AbortSignal): { passed: Promise<boolean> } {
  const program = join(import.meta.dirname, '../../scripts/check.mjs');
  const child = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
  setPriority(child.pid!, constants.priority.PRIORITY_BELOW_NORMAL);
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (said += text));
  const kill = () => child.kill();
  stop.addEventListener('abort', kill);
  // `close`, not `exit`: everything it said has arrived by then.
  const passed = once(child, 'close').then(([code]) => {
    stop.removeEventListener('abort', kill);
    console.log(`\nhouse rules:\n${said}`);
    return code === 0;
  });
  return { passed };
}
