import { organization } from './place.ts';

// Words that were typed and not sent yet, for one organization. They outlive a sign-in of the same person, a reload and a new release, in this
// tab alone. Secrets are never kept.

const prefix = 'draft ';
const nameOf = (key: string): string => `${prefix}${organization.value} ${key}`;
const maxLength = 100_000;

export function draftOf<T>(key: string): T | undefined {
  try {
    const text = sessionStorage.getItem(nameOf(key));
    return text ? (JSON.parse(text) as T) : undefined;
  } catch {
    return undefined;
  }
}

export function keepDraft(key: string, value: unknown): void {
  try {
    const text = JSON.stringify(value);
    if (text.length <= maxLength) sessionStorage.setItem(nameOf(key), text);
  } catch {
    // The tab's storage is full or switched off: a draft is a courtesy.
  }
}

export function dropDraft(key: string): void {
  try {
    sessionStorage.removeItem(nameOf(key));
  } catch {
    // as above
  }
}

const ownerKey = 'drafts of';

/** Drops what another person typed in this tab. Answers whether there was any. */
export function keepDraftsOf(personId: string): boolean {
  try {
    const owner = sessionStorage.getItem(ownerKey);
    sessionStorage.setItem(ownerKey, personId);
    if (owner === null || owner === personId) return false;
    const foreign = Object.keys(sessionStorage).filter((key) => key.startsWith(prefix));
    for (const key of foreign) sessionStorage.removeItem(key);
    return foreign.length > 0;
  } catch {
    return false;
  }
}
