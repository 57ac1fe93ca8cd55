/** `1 tag`, `10,000 tags`, `2 repositories`. */
export const counted = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${count === 1 ? noun : `${noun.replace(/y$/, 'ie')}s`}`;
