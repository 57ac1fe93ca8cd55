import { signal } from '@preact/signals';

// Short words about what was done, read aloud by screen readers. A failure stays until it is closed.

export interface Notice {
  id: number;
  text: string;
  tone: 'good' | 'bad';
}

const goodForMs = 6_000;
const maxNotices = 4;

export const notices = signal<readonly Notice[]>([]);
let lastId = 0;

export function say(text: string, tone: Notice['tone']): void {
  const id = ++lastId;
  notices.value = [...notices.value.filter((notice) => notice.text !== text), { id, text, tone }].slice(-maxNotices);
  if (tone === 'good') setTimeout(() => unsay(id), goodForMs);
}

export const unsay = (id: number): void => {
  notices.value = notices.value.filter((notice) => notice.id !== id);
};
