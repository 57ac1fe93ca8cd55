// What the command line shows of each list. Data only: sdk/generate checks it against the schemas and copies it into the command table.

/** How a value is written: `age` is `3h`, `time` the moment itself, `text` is free text that may be wrapped; all else is never broken. */
export type Format = 'age' | 'time' | 'bytes' | 'duration' | 'state' | 'id' | 'count' | 'percent' | 'text';

export interface Column {
  /** A field of the list's items; a dot leads into an object. */
  key: string;
  /** Shown where `key` is absent. */
  or?: string;
  /** The title, where the one made from the field's name does not suit. */
  head?: string;
  /** Where the field's name does not tell. */
  as?: Format;
  /** Shown with `-o wide`, and where the terminal has room. */
  wide?: true;
}

export const wide = (key: string, more: Omit<Column, 'key' | 'wide'> = {}): Column => ({ key, ...more, wide: true });
export const id = (key: string, more: Omit<Column, 'key' | 'as'> = {}): Column => ({ key, as: 'id', ...more });
export const text = (key: string, head?: string): Column => ({ key, as: 'text', ...(head ? { head } : {}) });
export const titled = (key: string, head: string, as?: Format): Column => ({ key, head, ...(as ? { as } : {}) });

export type Columns = (string | Column)[];
