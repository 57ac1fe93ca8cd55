import { fieldAt, isObject } from '../../sdk/browser.ts';
import { areaOf, useCommands } from './commands.ts';
import { useQuery } from './query.ts';
import { guardOf, useMay } from './rights.ts';

// How people name a thing where the API takes its id. The list that holds the names is the one that the command line reads too.

const maxChoices = 500;

interface Choices {
  /** Undefined where there is no list of them alone, or it may not be read. */
  choices?: { value: string; label: string }[];
  /** There are more: a list that misses some would keep a person from choosing them. */
  isCut: boolean;
}

/** The things of a kind to choose from. */
export function useChoices(kind: string): Choices {
  const table = useCommands();
  const thing = table?.things[kind];
  const list = thing?.list;
  const operation = list?.operation;
  const isAllowed = useMay(operation ?? '');
  const permission = operation ? guardOf(operation)?.permission : undefined;
  const { data } = useQuery<unknown>({
    key: ['choices', operation],
    kinds: permission ? [permission.split('.').slice(0, 2).join('.')] : [],
    isOff: !operation || Boolean(list?.params) || !isAllowed,
    ask: (api, signal) =>
      (api as unknown as Record<string, Record<string, (...args: unknown[]) => Promise<unknown>>>)[areaOf(operation!)!]![operation!]!(
        {},
        { signal },
      ),
  });
  if (!thing || !list || !data) return { isCut: false };
  const items = fieldAt(data, list.items);
  if (!Array.isArray(items)) return { isCut: false };
  const choices = items
    .filter(isObject)
    .slice(0, maxChoices)
    .map((item) => {
      const id = String(fieldAt(item, thing.id) ?? '');
      const name = (thing.names ?? []).map((key) => fieldAt(item, key)).find((value) => typeof value === 'string' && value);
      return { value: id, label: name && name !== id ? `${name} (${id})` : id };
    });
  return { choices, isCut: items.length > maxChoices || (isObject(data) && typeof data['cursor'] === 'string') };
}
