import { act } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { refresh } from '../../data/query.ts';

/** What an incident's screens hang on. */
export const incidentKinds = ['oncall.incident'];

interface Named {
  id: string;
  title: string;
}

/** One after the other: each refusal is said for its incident, and the others go on. What is on the screen is asked for once, at the end. */
async function each(list: readonly Named[], done: (name: string) => string, what: string, work: (id: string) => Promise<unknown>) {
  for (const { id, title } of list) await act({ what: `${what} “${title}”`, done: done(`“${title}”`), kinds: [], work: () => work(id) });
  void refresh(incidentKinds);
}

export const acknowledge = (list: readonly Named[]): Promise<void> =>
  each(
    list,
    (name) => `Acknowledged ${name}: nobody further is paged`,
    'acknowledge',
    (id) => api().oncall.acknowledgeIncident(id),
  );

export const resolve = (list: readonly Named[]): Promise<void> =>
  each(
    list,
    (name) => `Resolved ${name}`,
    'resolve',
    (id) => api().oncall.resolveIncident(id),
  );
