import { signal } from '@preact/signals';

/** Whether the action menu is open; keys and buttons open it. */
export const isMenuOpen = signal(false);
