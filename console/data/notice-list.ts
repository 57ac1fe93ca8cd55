// What notices say, and which ones stay. Pure.

export interface Notice {
  id: number;
  text: string;
  tone: 'good' | 'bad';
}

const maxNotices = 4;

/** Of too many, the oldest good ones go first: a failure among a hundred acts must not be pushed out by what went well. */
export function withNotice(notices: readonly Notice[], added: Notice): readonly Notice[] {
  const all = [...notices.filter(({ text }) => text !== added.text), added];
  const left = all.filter(({ tone }) => tone === 'good').slice(0, Math.max(0, all.length - maxNotices));
  return all.filter((notice) => !left.includes(notice));
}

/** A sentence with a name in it: marks of direction in the name would turn the words behind it. */
export const withoutSteering = (text: string): string => text.replaceAll(/[\u202a-\u202e\u2066-\u2069]/g, '');
