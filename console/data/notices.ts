import { signal } from '@preact/signals';
import { type Notice, withNotice, withoutSteering } from './notice-list.ts';

// Short words about what was done, read aloud by screen readers. A failure stays until it is closed.

const goodForMs = 6_000;

export const notices = signal<readonly Notice[]>([]);
let lastId = 0;

export function say(text: string, tone: Notice['tone']): void {
  const id = ++lastId;
  notices.value = withNotice(notices.value, { id, text: withoutSteering(text), tone });
  if (tone === 'good') setTimeout(() => unsay(id), goodForMs);
}

export const unsay = (id: number): void => {
  notices.value = notices.value.filter((notice) => notice.id !== id);
};
