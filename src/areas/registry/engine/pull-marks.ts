import type { App } from '../../../kernel/app.ts';
import { runFor, systemContext } from '../../../kernel/fairness/index.ts';
import { markPulled } from '../store/manifests.ts';

/** Notes that somebody pulled a manifest, for retention: at most one note a manifest and minute, many in one statement, since retention
 *  asks for days. */
export function makePullMarks(app: App): (manifestId: number) => void {
  const noted = app.caches.make<{ pulled: true }>();
  const waiting = new Set<number>();
  const flush = () => {
    const ids = [...waiting];
    waiting.clear();
    app.db.read((tx) => markPulled(tx, ids)).catch(() => {}); // a lost note costs nothing; the next pull leaves another
  };
  return (id) => {
    if (noted.peek(String(id))) return;
    void noted.get(String(id), async () => ({ value: { pulled: true }, topics: [] }));
    // Of everybody, so nobody's: who happens to be the first pays for none of the others.
    if (waiting.size === 0) setTimeout(() => runFor(systemContext, flush), 1_000).unref();
    waiting.add(id);
  };
}
