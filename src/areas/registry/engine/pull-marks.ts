import type { App } from '../../../kernel/app.ts';
import { runFor, systemContext } from '../../../kernel/fairness/index.ts';
import { markPulled } from '../store/manifests.ts';

/** Records pulls for retention: at most once a minute per manifest, many in one statement. Retention counts in days. */
export function makePullMarks(app: App): (manifestId: number) => void {
  const noted = app.caches.make<{ pulled: true }>();
  const waiting = new Set<number>();
  const flush = () => {
    const ids = [...waiting];
    waiting.clear();
    app.db.read((tx) => markPulled(tx, ids)).catch(() => {}); // a lost mark is harmless; the next pull sets another
  };
  return (id) => {
    if (noted.peek(String(id))) return;
    void noted.get(String(id), async () => ({ value: { pulled: true }, topics: [] }));
    // A batch holds marks of many organizations, so it is charged to the system and not to the first puller.
    if (waiting.size === 0) setTimeout(() => runFor(systemContext, flush), 1_000).unref();
    waiting.add(id);
  };
}
