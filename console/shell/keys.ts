import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { open } from '../data/place.ts';
import { isMenuOpen } from './menu-state.ts';

// Keys. Ctrl K and Escape always work; single keys can be switched off (WCAG 2.1.4) and never act while something is typed.

export interface Key {
  /** `j`, or two keys one after the other: `g i`. */
  keys: string;
  what: string;
  act(): void;
}

const everywhere: Key[] = [
  { keys: 'g h', what: 'Home', act: () => open('/') },
  { keys: 'g i', what: 'Incidents', act: () => open('/oncall/incidents') },
  { keys: 'g s', what: 'Schedules', act: () => open('/oncall/schedules') },
  { keys: 'g u', what: 'Monitors', act: () => open('/uptime/monitors') },
  { keys: 'g r', what: 'Registries', act: () => open('/registry') },
  {
    keys: '?',
    what: 'These keys',
    act: () => {
      isHelpOpen.value = !isHelpOpen.value;
    },
  },
];

export const isHelpOpen = signal(false);
const offKey = 'single keys are off';
export const areSingleKeysOff = signal(localStorageHas(offKey));

function localStorageHas(key: string): boolean {
  try {
    return localStorage.getItem(key) !== null;
  } catch {
    return false;
  }
}

export function switchSingleKeys(isOff: boolean): void {
  areSingleKeysOff.value = isOff;
  try {
    if (isOff) localStorage.setItem(offKey, 'yes');
    else localStorage.removeItem(offKey);
  } catch {
    // Then it holds for this page.
  }
}

/** Keys of the screen that is shown. */
export const screenKeys = signal<readonly Key[]>([]);

export function useScreenKeys(keys: readonly Key[]): void {
  useEffect(() => {
    screenKeys.value = keys;
    return () => {
      screenKeys.value = [];
    };
  }, [keys]);
}

export const allKeys = (): readonly Key[] => [...screenKeys.value, ...everywhere];

const betweenKeysMs = 1_000;

export function useKeys(): void {
  useEffect(() => {
    let before = '';
    let at = 0;
    const press = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        isMenuOpen.value = !isMenuOpen.value;
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || areSingleKeysOff.value || isTyping(event)) return;
      const pair = performance.now() - at < betweenKeysMs ? `${before} ${event.key}` : '';
      const found = allKeys().find(({ keys }) => keys === pair) ?? allKeys().find(({ keys }) => keys === event.key);
      before = event.key;
      at = performance.now();
      if (!found) return;
      event.preventDefault();
      found.act();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}

const isTyping = ({ target }: KeyboardEvent): boolean =>
  (target instanceof Element && target.closest('input:not([type=checkbox]), textarea, select, [contenteditable]') !== null) ||
  document.querySelector('dialog[open]') !== null;
