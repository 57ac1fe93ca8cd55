import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type CommandTable, useCommands } from '../data/commands.ts';
import { go, inOrganization, organization } from '../data/place.ts';
import { guardOf, type Rights, useRights, whyNot } from '../data/rights.ts';
import { type FoundThing, findThings } from '../data/search.ts';
import { isMenuOpen } from './menu-state.ts';
import { areas } from './screen.ts';
import { screens } from './screens.ts';

// Ctrl K: screens, things by their names, and every operation by its summary. What is not allowed is shown too, with the reason.

interface Entry {
  id: string;
  title: string;
  detail: string;
  to: string;
  why?: string | undefined;
  /** What it is found by, in lower case. */
  text: string;
}

const maxShown = 40;
const searchAfterMs = 150;

export function ActionMenu() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState(0);
  const entries = useEntries(typed);
  const listId = useId();
  // In the frame that draws it: what is typed right after Ctrl K is meant for it.
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current!.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  useEffect(() => setChosen(0), [typed]);
  const at = Math.min(chosen, entries.length - 1);
  useEffect(() => document.getElementById(`${listId}-${at}`)?.scrollIntoView({ block: 'nearest' }), [at]);
  const close = () => {
    isMenuOpen.value = false;
  };
  const choose = (entry: Entry | undefined) => {
    if (!entry) return;
    close();
    remember(entry.id);
    go(inOrganization(entry.to));
    scrollTo(0, 0);
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (step) setChosen(Math.max(0, Math.min(entries.length - 1, at + step)));
    else if (event.key === 'Enter') choose(entries[at]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      class="action-menu"
      aria-label="Search or do"
      onCancel={close}
      onClose={() => dialog.current && close()}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={entries.length ? `${listId}-${at}` : undefined}
        aria-label="Search or do"
        placeholder="A screen, the name of a thing, or what to do"
        autocomplete="off"
        spellcheck={false}
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={press}
      />
      <ul id={listId} role="listbox" aria-label="Results">
        {entries.map((entry, index) => (
          <li
            key={entry.id}
            id={`${listId}-${index}`}
            role="option"
            aria-selected={index === at}
            tabIndex={-1}
            onClick={() => choose(entry)}
            onPointerMove={() => setChosen(index)}
          >
            <span>{entry.title}</span>
            <span class="faint">{entry.why ?? entry.detail}</span>
          </li>
        ))}
      </ul>
      {!entries.length && <p class="faint">Nothing is called so. Names, ids and summaries of operations are searched.</p>}
    </dialog>
  );
}

function useEntries(typed: string): Entry[] {
  const table = useCommands();
  const { data: rights } = useRights();
  const things = useThings(typed);
  const fixed = useMemo(() => [...screenEntries(rights), ...operationEntries(table, rights)], [table, rights]);
  return useMemo(() => {
    const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return startEntries(fixed);
    const found = fixed
      .map((entry) => ({ entry, rank: rankOf(entry, words) }))
      .filter(({ rank }) => rank > 0)
      .toSorted((a, b) => b.rank - a.rank)
      .map(({ entry }) => entry);
    return [...things.map(thingEntry), ...found].slice(0, maxShown);
  }, [typed, fixed, things]);
}

/** Each word must be there; the beginning of the title and whole words count more. */
function rankOf({ title, text, why }: Entry, words: readonly string[]): number {
  let rank = why ? 1 : 2;
  for (const word of words) {
    const at = text.indexOf(word);
    if (at < 0) return 0;
    rank += title.toLowerCase().startsWith(word) ? 6 : at === 0 || /\W/.test(text[at - 1]!) ? 3 : 1;
  }
  return rank;
}

const screenEntries = (rights: Rights | undefined): Entry[] =>
  screens
    .filter(({ path }) => !path.includes(':') && path !== '/confirmed')
    .map(({ path, title, area, main, words = '' }) => ({
      id: path,
      title,
      detail: area === 'any' ? 'Screen' : areas[area],
      to: path,
      why: main ? whyNot(rights, guardOf(main)) : undefined,
      text: `${title} ${areas[area]} ${words}`.toLowerCase(),
    }));

const operationEntries = (table: CommandTable | undefined, rights: Rights | undefined): Entry[] =>
  (table?.commands ?? []).map(({ operation, summary, words }) => ({
    id: operation,
    title: summary,
    detail: words.join(' '),
    to: `/do/${operation}`,
    why: whyNot(rights, guardOf(operation)),
    text: `${summary} ${words.join(' ')} ${operation}`.toLowerCase(),
  }));

const thingEntry = ({ kind, name, detail, to, id }: FoundThing): Entry => ({
  id: `${kind} ${id}`,
  title: name,
  detail: detail ? `${kind} · ${detail}` : kind,
  to,
  text: '',
});

/** Names are asked for once the person pauses. */
function useThings(typed: string): FoundThing[] {
  const [found, setFound] = useState<FoundThing[]>([]);
  const slug = organization.value;
  useEffect(() => {
    const text = typed.trim();
    if (text.length < 2) return setFound([]);
    const stop = new AbortController();
    const timer = setTimeout(() => findThings(slug, text, stop.signal).then(setFound, () => undefined), searchAfterMs);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [typed, slug]);
  return found;
}

const recentKey = 'recent actions';
const maxRecent = 8;

function recent(): string[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(recentKey) ?? '[]');
    return Array.isArray(list) ? list.filter((id) => typeof id === 'string') : [];
  } catch {
    return [];
  }
}

function remember(id: string): void {
  try {
    localStorage.setItem(recentKey, JSON.stringify([id, ...recent().filter((one) => one !== id)].slice(0, maxRecent)));
  } catch {
    // Recent ones are a courtesy.
  }
}

/** Before anything is typed: what was used last, then the screens. */
function startEntries(fixed: readonly Entry[]): Entry[] {
  const last = recent();
  const first = last.flatMap((id) => fixed.filter((entry) => entry.id === id));
  return [...first, ...fixed.filter((entry) => !last.includes(entry.id) && !entry.to.startsWith('/do/'))].slice(0, maxShown);
}
